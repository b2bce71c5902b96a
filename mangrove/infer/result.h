#pragma once

#include <cstdint>
#include <span>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// The figures that all strategies report. predictions: one for each sample; -1 means that it has no answer and does
/// not count for the accuracy.
InferResult result_of(const InferJob& job, const Hello& data, std::span<const std::int32_t> truths,
                      std::span<const std::int32_t> predictions, Seconds seconds);

}  // namespace mangrove::infer

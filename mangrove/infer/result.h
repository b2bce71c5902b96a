#pragma once

#include <cstdint>
#include <span>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// What every strategy reports alike. predictions: per sample; -1: it has got no answer, and is left out of the
/// accuracy.
InferResult result_of(const InferJob& job, const Hello& data, std::span<const std::int32_t> truths,
                      std::span<const std::int32_t> predictions, Seconds seconds);

}  // namespace mangrove::infer

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/reports.h"
#include "mangrove/job/json.h"

namespace mangrove::infer {

/// The parts of a result, as JSON; docs/json.md lists their keys.
using job::Json;

/// Their percentiles.
Json latency_json(std::vector<Seconds> latencies);

/// What every strategy reports alike. predictions: per sample; -1: it has got no answer, and is left out of the
/// accuracy.
Json answers_json(const InferJob& job, const Hello& data, std::span<const std::int32_t> truths,
                  std::span<const std::int32_t> predictions, Seconds seconds);

}  // namespace mangrove::infer

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/cli/commands/predict_run.h"
#include "mangrove/compress/quantization_plan.h"

namespace mangrove::cli {

/// What two networks say to the same samples, the second against the first: signal-to-noise ratio of each f32 output;
/// where the output number `answering` is f32 [samples, classes], how often both give the same class, and where the
/// labels of the samples are known, the accuracy of each. Samples that could not be read do not count.
nlohmann::json compare_predictions(const SampleSource& source, const Predictions& reference,
                                   const Predictions& quantized, std::size_t answering);

/// A row for each layer.
nlohmann::json layers_report(const Graph& graph, const compress::QuantizationPlan& plan);

/// The result of `mangrove quantize` (docs/json.md) as a table for people.
std::string quantize_table(const nlohmann::json& report);

}  // namespace mangrove::cli

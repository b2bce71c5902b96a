#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/cli/commands/predict_run.h"

namespace mangrove::cli {

/// What a model said: for each output its type, shape and range; where the output number `answering` is f32
/// [samples, classes], for each sample the five most probable classes (softmax, unless the rows are probabilities
/// already). `labels` names the classes; those beyond it have their number.
nlohmann::json predict_report(const Predictions& predictions, const SampleSource& source,
                              const std::vector<std::string>& labels, std::size_t answering);

/// The report for people: one sample with its five classes, several with a line each.
std::string predict_table(const nlohmann::json& report);

}  // namespace mangrove::cli

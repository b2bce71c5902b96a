#include "mangrove/compress/calibration.h"

#include <algorithm>
#include <utility>

namespace mangrove::compress {

Calibrator::Calibrator(std::unique_ptr<Execution> execution, const std::vector<std::string>& values)
    : execution_(std::move(execution)) {
  for (const std::string& value : values) histograms_[value];
}

Result<Calibrator> Calibrator::create(const Graph& graph, const std::vector<std::string>& values,
                                      const CompileOptions& options) {
  GraphParts parts = graph.parts();
  for (const std::string& value : values) {
    const bool is_input = std::ranges::count(parts.inputs, value, [](const auto& input) { return input.first; }) > 0;
    if (!is_input && std::ranges::count(parts.outputs, value) == 0) parts.outputs.push_back(value);
  }
  MG_TRY(const Graph observed, Graph::create(std::move(parts)));
  MG_TRY(auto program, Program::compile(observed, options));
  MG_TRY(auto execution, Execution::create(std::move(program), options.threads));
  return Calibrator(std::move(execution), values);
}

Status Calibrator::observe() {
  // inputs first: their memory may be used again by the forward pass
  const auto add = [&](bool is_input) -> Status {
    for (auto& [value, histogram] : histograms_) {
      const auto& inputs = execution_->program().graph().inputs();
      if ((std::ranges::count(inputs, value, [](const auto& input) { return input.first; }) > 0) != is_input) continue;
      if (histogram.add(execution_->output<float>(value))) continue;
      return make_error(Code::failed_precondition,
                        "value '" + value + "' has elements that are infinite or not a number");
    }
    return {};
  };
  MG_RETURN_IF_ERROR(add(true));
  execution_->forward();
  return add(false);
}

}  // namespace mangrove::compress

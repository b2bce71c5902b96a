#include "mangrove/cli/reports/quantize_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// Decibels; null (no number in JSON) where there is no difference, or no signal.
json signal_to_noise(const Tensor& reference, const Tensor& other, const std::vector<Status>& read) {
  const auto a = reference.as<float>(), b = other.as<float>();
  const std::size_t rows = read.size();
  const bool by_row = reference.shape().rank() > 0 && reference.shape()[0] == static_cast<std::int64_t>(rows);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (by_row && !read[i / (a.size() / rows)].ok()) continue;
    signal += static_cast<double>(a[i]) * a[i];
    noise += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  if (signal == 0 || noise == 0) return nullptr;
  return 10 * std::log10(signal / noise);
}

std::int32_t largest(std::span<const float> row) {
  return static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
}

bool is_classifier(const Tensor& output, std::size_t samples) {
  return output.dtype() == DType::f32 && output.shape().rank() == 2 &&
         output.shape()[0] == static_cast<std::int64_t>(samples) && output.shape()[1] > 0;
}

std::string percent(const json& share) {
  return format_percent(share.get<double>());
}

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("  {:<28} {}\n", name, value);
}

std::string comparison_rows(const json& comparison) {
  std::string text = row(
      "compared on",
      fmt::format("{}{}", format_things(comparison["samples"].get<std::int64_t>(), "sample"),
                  comparison["held_back"].get<bool>() ? " not used for calibration" : ": those used for calibration"));
  if (comparison.contains("accuracy")) {
    text += row("top-1 accuracy", percent(comparison["accuracy"]["quantized"]) +
                                      " (float: " + percent(comparison["accuracy"]["float"]) + ")");
  }
  if (comparison.contains("agreement")) text += row("same top-1 as float", percent(comparison["agreement"]));
  for (const json& output : comparison["outputs"]) {
    const json& ratio = output["snr_db"];
    text += row("signal to noise, " + output["name"].get<std::string>(),
                ratio.is_null() ? "no difference" : fmt::format("{:.1f} dB", ratio.get<double>()));
  }
  return text;
}

}  // namespace

json compare_predictions(const SampleSource& source, const Predictions& reference, const Predictions& quantized,
                         std::size_t answering) {
  json result = {{"outputs", json::array()}};
  for (std::size_t i = 0; i < reference.outputs.size(); ++i) {
    const auto& [name, tensor] = reference.outputs[i];
    if (tensor.dtype() != DType::f32) continue;
    result["outputs"].push_back(
        {{"name", name}, {"snr_db", signal_to_noise(tensor, quantized.outputs[i].second, reference.read)}});
  }
  std::int64_t samples = 0, labelled = 0, same = 0, right = 0, right_quantized = 0;
  const Tensor& logits = reference.outputs[answering].second;
  const bool classifies = is_classifier(logits, reference.read.size());
  const std::size_t classes = classifies ? static_cast<std::size_t>(logits.shape()[1]) : 0;
  for (std::size_t i = 0; i < reference.read.size(); ++i) {
    if (!reference.read[i].ok()) continue;
    ++samples;
    if (!classifies) continue;
    const std::int32_t a = largest(logits.as<float>().subspan(i * classes, classes));
    const std::int32_t b = largest(quantized.outputs[answering].second.as<float>().subspan(i * classes, classes));
    same += a == b;
    if (const auto label = source.label(static_cast<std::int64_t>(i))) {
      ++labelled;
      right += a == *label;
      right_quantized += b == *label;
    }
  }
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  result["samples"] = samples;
  if (classifies && samples > 0) result["agreement"] = share(same, samples);
  if (labelled > 0) {
    result["accuracy"] = {{"float", share(right, labelled)}, {"quantized", share(right_quantized, labelled)}};
  }
  return result;
}

json layers_report(const Graph& graph, const compress::QuantizationPlan& plan) {
  json layers = json::array();
  for (const Node& node : graph.nodes()) {
    const auto kept = std::ranges::find(plan.kept, node.name, &compress::QuantizationPlan::Kept::node);
    if (kept != plan.kept.end()) {
      layers.push_back({{"name", node.name}, {"operator", node.op}, {"quantized", false}, {"why", kept->why}});
    } else if (std::ranges::count(plan.layers, node.name) > 0) {
      layers.push_back({{"name", node.name}, {"operator", node.op}, {"quantized", true}});
    }
  }
  return layers;
}

std::string quantize_table(const json& report) {
  std::string text =
      fmt::format("Quantization: {} to {}\n", report["model"].get<std::string>(), report["output"].get<std::string>());
  const json& layers = report["layers"];
  const auto quantized =
      std::ranges::count_if(layers, [](const json& layer) { return layer["quantized"].get<bool>(); });
  text += row("layers on int8", fmt::format("{} of {}", quantized, layers.size()));
  for (const json& layer : layers) {
    if (layer["quantized"].get<bool>()) continue;
    text += row("stays float", fmt::format("{} ({}): {}", layer["name"].get<std::string>(),
                                           layer["operator"].get<std::string>(), layer["why"].get<std::string>()));
  }
  text += row("calibrated with",
              fmt::format("{}, {}", format_things(report["calibration_samples"].get<std::int64_t>(), "sample"),
                          report["method"].get<std::string>()));
  const auto before = report["bytes"]["float"].get<Bytes>(), after = report["bytes"]["quantized"].get<Bytes>();
  text += row("file", fmt::format("{} (float: {}, {:.2f}x)", format_bytes(after), format_bytes(before),
                                  static_cast<double>(before) / static_cast<double>(std::max<Bytes>(after, 1))));
  return text + comparison_rows(report["comparison"]);
}

}  // namespace mangrove::cli

#include "mangrove/cli/reports/predict_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mangrove/base/units.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kTop = 5;

json top_classes(std::span<const float> row, const std::vector<std::string>& labels) {
  // NaN is not ordered, and says that nothing else can be believed
  if (std::ranges::any_of(row, [](float x) { return std::isnan(x); })) return json::array();
  const std::vector<double> values = learn::probabilities(row);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t n = std::min(kTop, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
      [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  json top = json::array();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t c = order[i];
    top.push_back(
        {{"class", c}, {"label", c < labels.size() ? labels[c] : std::to_string(c)}, {"probability", values[c]}});
  }
  return top;
}

template <class T>
void add_range(const Tensor& tensor, json& report) {
  const std::span<const T> values = tensor.as<T>();
  if (values.empty()) return;
  const auto [least, most] = std::ranges::minmax_element(values);
  double sum = 0;
  for (const T value : values) sum += static_cast<double>(value);
  report["min"] = static_cast<double>(*least);
  report["max"] = static_cast<double>(*most);
  report["mean"] = sum / static_cast<double>(values.size());
}

json output_report(const std::string& name, const Tensor& tensor) {
  json report = {{"name", name}, {"type", dtype_name(tensor.dtype())}, {"shape", tensor.shape().dims()}};
  switch (tensor.dtype()) {
    case DType::f32:
      add_range<float>(tensor, report);
      break;
    case DType::f64:
      add_range<double>(tensor, report);
      break;
    case DType::i32:
      add_range<std::int32_t>(tensor, report);
      break;
    case DType::i64:
      add_range<std::int64_t>(tensor, report);
      break;
    case DType::u8:
      add_range<std::uint8_t>(tensor, report);
      break;
    case DType::i8:
      add_range<std::int8_t>(tensor, report);
      break;
    case DType::boolean:
      add_range<bool>(tensor, report);
      break;
  }
  return report;
}

/// "military uniform 71.8 %"
std::string class_text(const json& entry) {
  return fmt::format("{} {:.1f} %", entry["label"].get<std::string>(), 100 * entry["probability"].get<double>());
}

std::string sample_text(const json& sample) {
  const std::string name = sample["input"].get<std::string>();
  if (sample.contains("error")) return fmt::format("{}: {}\n", name, sample["error"].get<std::string>());
  if (sample["top"].empty()) return name + ": not a number\n";
  return fmt::format("{}: {}\n", name, class_text(sample["top"][0]));
}

std::string single_text(const json& sample) {
  if (sample.contains("error") || sample["top"].empty()) return sample_text(sample);
  std::string text = sample["input"].get<std::string>() + "\n";
  for (const json& entry : sample["top"])
    text += fmt::format("  {:>6.2f} %  {} (class {})\n", 100 * entry["probability"].get<double>(),
                        entry["label"].get<std::string>(), entry["class"].get<int>());
  return text;
}

}  // namespace

json predict_report(const Predictions& predictions, const SampleSource& source, const std::vector<std::string>& labels,
                    std::size_t answering) {
  json report;
  report["outputs"] = json::array();
  for (const auto& [name, tensor] : predictions.outputs) report["outputs"].push_back(output_report(name, tensor));
  const Tensor& first = predictions.outputs[answering].second;
  const bool classifies = first.dtype() == DType::f32 && first.shape().rank() == 2 && first.shape()[1] > 1;
  const std::int64_t rows = classifies ? first.shape()[0] : source.count();
  report["samples"] = json::array();
  for (std::int64_t i = 0; i < rows; ++i) {
    // a model of a fixed batch has several rows for its one array
    json sample = {{"input", source.name(std::min(i, source.count() - 1))}};
    const auto at = static_cast<std::size_t>(i);
    if (at < predictions.read.size() && !predictions.read[at].ok()) {
      sample["error"] = predictions.read[at].error().message;
    } else if (classifies) {
      const auto classes = static_cast<std::size_t>(first.shape()[1]);
      sample["top"] = top_classes(first.as<float>().subspan(at * classes, classes), labels);
    }
    if (at < predictions.exits.size()) sample["exit"] = predictions.exits[at] + 1;
    report["samples"].push_back(std::move(sample));
  }
  if (!predictions.left_at_exits.empty()) {
    report["left_at_exits"] = predictions.left_at_exits;
    report["exit_thresholds"] = predictions.exit_thresholds;
  }
  report["failed"] = std::ranges::count_if(predictions.read, [](const Status& read) { return !read.ok(); });
  report["seconds"] = predictions.seconds;
  report["samples_per_s"] = static_cast<double>(source.count()) / std::max(predictions.seconds, 1e-9);
  return report;
}

std::string predict_table(const json& report) {
  const json& samples = report["samples"];
  std::string text;
  for (const json& sample : samples)
    if (sample.contains("top") || sample.contains("error"))
      text += samples.size() == 1 ? single_text(sample) : sample_text(sample);
  for (const json& output : report["outputs"]) {
    text += fmt::format("output {} {} {}", output["name"].get<std::string>(), output["type"].get<std::string>(),
                        to_string(Shape(output["shape"].get<std::vector<std::int64_t>>())));
    if (output.contains("mean") && output["mean"].is_number())
      text += fmt::format(": {:.5g} to {:.5g}, mean {:.5g}", output["min"].get<double>(), output["max"].get<double>(),
                          output["mean"].get<double>());
    text += "\n";
  }
  if (report.contains("left_at_exits"))
    text += "samples that left at each exit: " + report["left_at_exits"].dump() +
            "; thresholds at the end: " + report["exit_thresholds"].dump() + "\n";
  if (report["failed"] > 0)
    text += fmt::format("{} of {} samples could not be read\n", report["failed"].get<int>(), samples.size());
  return text + fmt::format("{} sample(s) in {}, {:.1f} a second\n", samples.size(),
                            format_seconds(report["seconds"].get<double>()), report["samples_per_s"].get<double>());
}

}  // namespace mangrove::cli

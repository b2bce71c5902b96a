#include "mangrove/cli/reports/predict_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mangrove/base/format.h"
#include "mangrove/learn/top_classes.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kTop = 5;

json top_classes(std::span<const float> row, const std::vector<std::string>& labels) {
  json top = json::array();
  for (const auto& [c, probability] : learn::top_classes(row, kTop))
    top.push_back(
        {{"class", c}, {"label", c < labels.size() ? labels[c] : std::to_string(c)}, {"probability", probability}});
  return top;
}

/// Rows of samples that could not be read are NaN, and do not count.
template <class T>
void add_range(const Tensor& tensor, json& report) {
  double least = 0, most = 0, sum = 0;
  std::int64_t count = 0;
  for (const T element : tensor.as<T>()) {
    const auto value = static_cast<double>(element);
    if (std::isnan(value)) continue;
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    sum += value;
    ++count;
  }
  if (count == 0) return;
  report["min"] = least;
  report["max"] = most;
  report["mean"] = sum / static_cast<double>(count);
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

/// "military uniform (class 652)", or "class 6" where the classes have no names
std::string label_text(const json& entry) {
  const std::string label = entry["label"].get<std::string>(), number = entry["class"].dump();
  return label == number ? "class " + number : fmt::format("{} (class {})", label, number);
}

/// "military uniform (71.8 %)", or "class 6 (71.8 %)"
std::string class_text(const json& entry) {
  const std::string label = entry["label"].get<std::string>();
  return fmt::format("{} ({})", label == entry["class"].dump() ? "class " + label : label,
                     format_percent(entry["probability"].get<double>(), 1));
}

std::string sample_text(const json& sample) {
  const std::string name = sample["input"].get<std::string>();
  if (sample.contains("error")) {
    const std::string error = sample["error"].get<std::string>();  // most name the file themselves
    return error.starts_with(name) ? error + "\n" : fmt::format("{}: {}\n", name, error);
  }
  if (sample["top"].empty()) return name + ": not a number\n";
  return fmt::format("{}: {}\n", name, class_text(sample["top"][0]));
}

std::string single_text(const json& sample) {
  if (sample.contains("error") || sample["top"].empty()) return sample_text(sample);
  std::string text = sample["input"].get<std::string>() + "\n";
  for (const json& entry : sample["top"])
    text += fmt::format("  {:>8}  {}\n", format_percent(entry["probability"].get<double>()), label_text(entry));
  return text;
}

/// left at exit 1: 7 samples (70.0 %), threshold 0.302 at the end
std::string exit_rows(const json& report) {
  const auto left = report["left_at_exits"].get<std::vector<std::int64_t>>();
  const auto thresholds = report["exit_thresholds"].get<std::vector<double>>();
  const auto all = static_cast<double>(std::accumulate(left.begin(), left.end(), std::int64_t{0}));
  std::string text;
  for (std::size_t i = 0; i < left.size(); ++i) {
    text += fmt::format("left at exit {}: {} ({})", i + 1, format_things(left[i], "sample"),
                        format_percent(static_cast<double>(left[i]) / std::max(all, 1.0), 1));
    if (i < thresholds.size()) text += fmt::format(", threshold {} at the end", format_number(thresholds[i]));
    text += "\n";
  }
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
      text += fmt::format(": {} to {}, mean {}", format_number(output["min"].get<double>()),
                          format_number(output["max"].get<double>()), format_number(output["mean"].get<double>()));
    text += "\n";
  }
  if (report.contains("left_at_exits")) text += exit_rows(report);
  if (report["failed"] > 0)
    text += fmt::format("{} of {} could not be read\n", format_count(report["failed"].get<std::int64_t>()),
                        format_things(std::ssize(samples), "sample"));
  return text + fmt::format("{} in {}, {}\n", format_things(std::ssize(samples), "sample"),
                            format_seconds(report["seconds"].get<double>()),
                            format_rate(report["samples_per_s"].get<double>(), "samples"));
}

}  // namespace mangrove::cli

#include "mangrove/cli/reports/compress_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostClasses = 3;      // that are named
constexpr std::size_t kMostParameters = 20;  // rows of the table

std::string fact(const std::string& name, const std::string& value) {
  return fmt::format("  {:<26} {}\n", name, value);
}

/// "17.3 kB (before: 1.07 MB, 61.5x)"
std::string before_and_after(const std::string& before, const std::string& after, double times) {
  return fmt::format("{} (before: {}, {}x)", after, before, format_number(times));
}

double times(double before, double after) {
  return after > 0 ? before / after : 0;
}

std::string worst_classes(const CompressReport& report) {
  std::vector<CompressReport::Class> worst = report.classes;
  const auto loss = [](const CompressReport::Class& one) { return one.accuracy.before - one.accuracy.after; };
  std::ranges::stable_sort(worst, std::greater<>(), loss);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostClasses, worst.size()) && loss(worst[i]) > 0; ++i)
    text += fmt::format("{}{} ({} to {})", i == 0 ? "" : ", ", worst[i].name, format_percent(worst[i].accuracy.before),
                        format_percent(worst[i].accuracy.after));
  return text.empty() ? "none" : text;
}

std::string bits_text(const CompressReport::Parameter& parameter) {
  if (parameter.values == 0) return "32";
  return std::to_string(std::bit_width(static_cast<std::uint64_t>(parameter.values - 1)));
}

std::string parameter_rows(const CompressReport& report) {
  std::vector<CompressReport::Parameter> rows = report.parameters;
  std::ranges::stable_sort(rows, std::greater<>(), &CompressReport::Parameter::bytes);
  std::string text =
      fmt::format("  {:<26} {:>12} {:>9} {:>5} {:>10}\n", "parameter", "weights", "kept", "bits", "coded");
  for (std::size_t i = 0; i < std::min(kMostParameters, rows.size()); ++i)
    text += fmt::format("  {:<26} {:>12} {:>9} {:>5} {:>10}\n", rows[i].name, format_count(rows[i].elements),
                        format_percent(rows[i].kept), bits_text(rows[i]), format_bytes(rows[i].bytes));
  if (rows.size() > kMostParameters)
    text += fmt::format("  and {} more: --json has all of them\n", rows.size() - kMostParameters);
  return text;
}

}  // namespace

std::string compress_text(const CompressReport& report) {
  std::string text = fmt::format("Compression: {} to {}, recipe {}\n", report.model, report.output, report.recipe);
  text += fact("top-1 accuracy",
               fmt::format("{} (before: {}) on {}", format_percent(report.accuracy.after),
                           format_percent(report.accuracy.before), format_things(report.samples, "test sample")));
  text += fact("classes that lost most", worst_classes(report));
  const auto bytes = [](Bytes size) { return static_cast<double>(size); };
  text += fact("file", before_and_after(format_bytes(report.bytes.before), format_bytes(report.bytes.after),
                                        times(bytes(report.bytes.before), bytes(report.bytes.after))));
  text += fact("weights",
               before_and_after(
                   format_count(report.parameters_before), format_count(report.parameters_after),
                   times(static_cast<double>(report.parameters_before), static_cast<double>(report.parameters_after))));
  text +=
      fact("memory, batch 1", before_and_after(format_bytes(report.memory.before), format_bytes(report.memory.after),
                                               times(bytes(report.memory.before), bytes(report.memory.after))));
  text += fact("an answer, batch 1",
               before_and_after(format_seconds(report.seconds.before), format_seconds(report.seconds.after),
                                times(report.seconds.before, report.seconds.after)));
  if (!report.exported.empty()) text += fact("as ONNX", report.exported);
  if (!report.parameters.empty()) text += parameter_rows(report);
  for (const std::string& gain : report.gains) text += gain + ".\n";
  return text;
}

}  // namespace mangrove::cli

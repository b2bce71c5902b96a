#include "mangrove/cli/reports/exits_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/base/format.h"

namespace mangrove::cli {

ExitsReport exits_report(const Graph& network, const std::vector<float>& thresholds,
                         const exits::ExitEvaluation& evaluation) {
  const auto samples = static_cast<double>(std::max<std::int64_t>(1, evaluation.confusion.total()));
  ExitsReport report;
  for (std::size_t i = 0; i < evaluation.exits.size(); ++i) {
    const auto& [left, correct] = evaluation.exits[i];
    ExitsReport::Exit& exit = report.exits.emplace_back();
    exit.output = network.outputs()[i];
    if (i < thresholds.size()) exit.threshold = thresholds[i];
    exit.samples = left;
    exit.share = static_cast<double>(left) / samples;
    if (left > 0) exit.accuracy = static_cast<double>(correct) / static_cast<double>(left);
  }
  report.seconds_per_sample = evaluation.seconds / samples;
  report.speedup = evaluation.whole_seconds / std::max(evaluation.seconds, 1e-12);
  report.without_exits = {evaluation.whole_confusion.accuracy(), evaluation.whole_seconds / samples};
  return report;
}

std::string exit_rows(const ExitsReport& report) {
  std::string text =
      fmt::format("  {:<12} {:>10} {:>9} {:>9} {:>9}\n", "exit", "threshold", "samples", "share", "accuracy");
  for (const ExitsReport::Exit& exit : report.exits)
    text += fmt::format("  {:<12} {:>10} {:>9} {:>9} {:>9}\n", exit.output,
                        exit.threshold ? format_number(*exit.threshold) : "-", format_count(exit.samples),
                        format_percent(exit.share), exit.accuracy ? format_percent(*exit.accuracy) : "-");
  return text +
         fmt::format("  {:<26} {} for a sample, without exits {}: {:.2f}x as fast\n", "with exits",
                     format_seconds(report.seconds_per_sample), format_seconds(report.without_exits.seconds_per_sample),
                     report.speedup) +
         fmt::format("  {:<26} {}\n", "accuracy without exits", format_percent(report.without_exits.accuracy));
}

}  // namespace mangrove::cli

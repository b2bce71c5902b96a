#include "mangrove/cli/reports/exits_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"

namespace mangrove::cli {

using nlohmann::json;

json exits_report(const Graph& network, const std::vector<float>& thresholds, const exits::ExitEvaluation& evaluation) {
  const auto samples = static_cast<double>(std::max<std::int64_t>(1, evaluation.confusion.total()));
  json exits = json::array();
  for (std::size_t i = 0; i < evaluation.exits.size(); ++i) {
    const auto& [left, correct] = evaluation.exits[i];
    exits.push_back({{"output", network.outputs()[i]},
                     {"samples", left},
                     {"share", static_cast<double>(left) / samples},
                     {"accuracy", nullptr}});
    if (left > 0) exits.back()["accuracy"] = static_cast<double>(correct) / static_cast<double>(left);
    if (i < thresholds.size()) exits.back()["threshold"] = thresholds[i];
  }
  return {{"exits", std::move(exits)},
          {"seconds_per_sample", evaluation.seconds / samples},
          {"speedup", evaluation.whole_seconds / std::max(evaluation.seconds, 1e-12)},
          {"without_exits",
           {{"accuracy", evaluation.whole_confusion.accuracy()},
            {"seconds_per_sample", evaluation.whole_seconds / samples}}}};
}

std::string exit_rows(const json& report) {
  if (!report.contains("exits")) return "";
  std::string text =
      fmt::format("  {:<12} {:>10} {:>9} {:>9} {:>9}\n", "exit", "threshold", "samples", "share", "accuracy");
  for (const json& exit : report["exits"]) {
    const auto percent = [&](const char* key) {
      return exit[key].is_null() ? std::string("-") : format_percent(exit[key].get<double>());
    };
    text += fmt::format("  {:<12} {:>10} {:>9} {:>9} {:>9}\n", exit["output"].get<std::string>(),
                        exit.contains("threshold") ? format_number(exit["threshold"].get<double>()) : "-",
                        format_count(exit["samples"].get<std::int64_t>()), percent("share"), percent("accuracy"));
  }
  const json& whole = report["without_exits"];
  const double with = report["seconds_per_sample"].get<double>(), without = whole["seconds_per_sample"].get<double>();
  return text +
         fmt::format("  {:<26} {} for a sample, without exits {}: {:.2f}x as fast\n", "with exits",
                     format_seconds(with), format_seconds(without), report["speedup"].get<double>()) +
         fmt::format("  {:<26} {}\n", "accuracy without exits", format_percent(whole["accuracy"].get<double>()));
}

}  // namespace mangrove::cli

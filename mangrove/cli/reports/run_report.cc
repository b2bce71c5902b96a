// What a run folder holds, as a page.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mangrove/base/config_file.h"
#include "mangrove/base/log.h"
#include "mangrove/cli/reports/report_page.h"
#include "mangrove/cli/settings.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// A run that was killed, or still writes, leaves a line that is cut off: such lines are left out.
Result<std::vector<json>> read_metrics(const fs::path& path) {
  MG_TRY(const std::string text, read_file(path));
  std::vector<json> metrics;
  std::size_t unreadable = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) {
      metrics.push_back(std::move(parsed));
    } else {
      ++unreadable;
    }
  }
  if (metrics.empty() && unreadable > 0)
    return make_error(Code::data_loss, path.string() + ": no line is a JSON object, as each should be");
  if (unreadable > 0)
    log_warn("lines cannot be read and are left out", {{"file", path.string()}, {"lines", unreadable}});
  return metrics;
}

/// {"train": ..., "infer": ...}: `mangrove train` and `infer` leave their result alone.
Result<json> read_results(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  MG_TRY(const std::string text, read_file(path));
  json summary = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return make_error(Code::data_loss, path.string() + ": expected a JSON object");
  if (!summary.contains("model")) return summary;
  return json{{summary.contains("images") ? "infer" : "train", std::move(summary)}};
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// "lenet on mnist", from the results or from the settings of a run that has none yet; else the folder's name.
Result<std::string> title_of(const fs::path& folder, const json& results) {
  for (const json& result : results) {
    if (!result.is_object() || text_at(result, "model").empty()) continue;
    return text_at(result, "model") + " on " + text_at(result, "data");
  }
  const fs::path job = folder / "job.yaml";
  if (!fs::exists(job)) return fs::absolute(folder).lexically_normal().filename().string();
  TrainSettings settings;
  MG_TRY(const ConfigFile file, ConfigFile::load(job, {"job file", {"train"}, "train"}));
  MG_RETURN_IF_ERROR(file.apply(file.sections().front(), settings.keys()));
  return settings.network() + " on " + settings.data.data;
}

}  // namespace

Result<std::string> report_of_folder(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_directory(folder, unreadable))
    return make_error(Code::not_found, folder.string() + ": no such run folder");
  const fs::path metrics_path = folder / "metrics.jsonl";
  if (!fs::exists(metrics_path, unreadable))
    return make_error(Code::not_found, folder.string() +
                                           ": not a run folder, or the run has only just begun: it has no "
                                           "metrics.jsonl");
  MG_TRY(const std::vector<json> metrics, read_metrics(metrics_path));
  MG_TRY(const json results, read_results(folder / "summary.json"));
  MG_TRY(const std::string title, title_of(folder, results));
  return report_page(title, metrics, results);
}

Status write_report(RunFolder& folder) {
  std::error_code unreadable;
  if (!fs::exists(folder.path() / "metrics.jsonl", unreadable)) return {};
  MG_TRY(const std::string page, report_of_folder(folder.path()));
  return folder.write("report.html", page);
}

}  // namespace mangrove::cli

#include "mangrove/cli/reports/run_record.h"

#include "mangrove/base/config_file.h"
#include "mangrove/cli/reports/eval_report.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/json_lines.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/run_folder.h"
#include "mangrove/cli/settings.h"
#include "mangrove/infer/report.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestTitle = 400;

/// {"train": ..., "infer": ...}: `mangrove train` and `infer` leave their result alone.
Result<json> read_results(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  MG_TRY(json summary, read_json_object(path));
  return results_of(std::move(summary));
}

/// "lenet on mnist", from the results or from the settings of a run that has none yet; else the folder's name.
std::string title_of_run(const fs::path& folder, const json& results,
                         const std::map<std::string, std::string>& settings) {
  if (const std::string title = title_of(results); !title.empty()) return title;
  const auto setting = [&](const char* key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
  };
  const std::string data = setting("data");
  for (const char* key : {"init_from", "tiers", "models", "model"})
    if (const std::string network = setting(key); !network.empty() && !data.empty()) return network + " on " + data;
  return fs::absolute(folder).lexically_normal().filename().string();
}

Status check_keys(const ConfigFile& file) {
  for (const ConfigFile::Section& section : file.sections()) {
    TrainSettings train;
    InferSettings infer;
    MG_RETURN_IF_ERROR(file.apply(section, section.name == "train" ? train.keys() : infer.keys()));
  }
  return {};
}

/// has_ended: then the settings were right when it began, if only for the program of that day.
Result<std::map<std::string, std::string>> read_settings(const fs::path& path, bool has_ended) {
  std::map<std::string, std::string> settings;
  if (!fs::exists(path)) return settings;
  MG_TRY(const ConfigFile file, ConfigFile::load(path, {"job file", {"train", "infer"}, "train"}));
  if (!has_ended) MG_RETURN_IF_ERROR(check_keys(file));
  const bool has_several = file.sections().size() > 1;
  for (const ConfigFile::Section& section : file.sections())
    for (const ConfigFile::Setting& setting : section.settings)
      if (setting.key != "run_dir")
        settings[has_several ? section.name + "." + setting.key : setting.key] = setting.value;
  return settings;
}

}  // namespace

std::string title_of(const json& results) {
  for (const json& result : results) {
    const auto facts = job::read_json<RunFacts>(result);
    if (!facts.ok() || !facts->model) continue;
    const std::string data = facts->data ? *facts->data : facts->input.value_or("");
    return shortened(*facts->model + " on " + data, kLongestTitle);
  }
  return "";
}

Result<RunRecord> load_run(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_directory(folder, unreadable))
    return make_error(Code::not_found, folder.string() + ": no such run folder");
  const fs::path metrics = folder / "metrics.jsonl", world = folder / RunFolder::kWorldFile,
                 events = folder / RunFolder::kEventsFile;
  if (!fs::exists(metrics, unreadable))
    return make_error(Code::not_found, folder.string() +
                                           ": not a run folder, or the run has only just begun: it has no "
                                           "metrics.jsonl");
  RunRecord run;
  MG_RETURN_IF_ERROR(read_json_lines(metrics, [&](const json& line) { run.history.take(line); }));
  MG_TRY(run.results, read_results(folder / "summary.json"));
  MG_TRY(run.settings, read_settings(folder / "job.yaml", !run.results.empty()));
  run.title = title_of_run(folder, run.results, run.settings);
  if (fs::exists(world, unreadable)) {
    MG_TRY(run.world, sim::load_world(world));
  }
  if (run.world && fs::exists(events, unreadable))
    MG_RETURN_IF_ERROR(read_json_lines(events, [&](const json& line) { run.world_history.take(line); }));
  return run;
}

json results_of(json result) {
  const auto facts = job::read_json<RunFacts>(result);
  if (!facts.ok() || !facts->model) return result;
  const char* section = job::read_json<infer::InferResult>(result).ok() ? "infer"
                        : job::read_json<EvalReport>(result).ok()       ? "eval"
                                                                        : "train";
  return {{section, std::move(result)}};
}

}  // namespace mangrove::cli

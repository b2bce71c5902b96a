#include "mangrove/cli/sources/data_source.h"

#include <cstdio>
#include <optional>

#include "mangrove/base/units.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/download.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {

Status download_data(const std::string& name, const std::string& data_dir, std::stop_token stop) {
  const fs::path folder = data::data_folder(data_dir);
  ProgressDisplay display(shows_progress({}));
  std::optional<LoopProgress> progress;  // once there is something to download: the name may be wrong, or of none
  const auto show = [&](Bytes done, Bytes total) {
    if (!progress) {
      std::fprintf(stderr, "downloading %s, %s, to %s\n", name.c_str(), format_bytes(total).c_str(), folder.c_str());
      progress.emplace(display, "download", total, Loop::steps);
    }
    (*progress)(done);
  };
  return data::fetch_dataset(name, folder, show, stop);
}

Result<std::string> ensure_data(const DataSettings& settings, std::stop_token stop,
                                const std::function<Status()>& before_download) {
  MG_TRY(const bool present, data::is_present(settings.data, data::data_folder(settings.data_dir)));
  if (present) return settings.data;
  if (before_download) MG_RETURN_IF_ERROR(before_download());
  const Status fetched = download_data(settings.data, settings.data_dir, stop);
  if (fetched.ok()) return settings.data;
  if (settings.data_fallback.empty() || stop.stop_requested()) return fetched.error();
  std::fprintf(stderr, "%s; using %s instead\n", fetched.error().message.c_str(), settings.data_fallback.c_str());
  return settings.data_fallback;
}

std::optional<std::string> in_place_of(const DataSettings& settings, const std::string& used) {
  return used != settings.data ? std::optional(settings.data) : std::nullopt;
}

Result<std::string> data_for(const Graph& graph, const std::string& data, const std::string& data_dir,
                             std::stop_token stop) {
  if (!data.empty()) return ensure_data({.data = data, .data_fallback = "", .data_dir = data_dir}, stop);
  if (const auto trained_on = graph.metadata().find(learn::kDataKey); trained_on != graph.metadata().end())
    return trained_on->second;
  return make_error(Code::invalid_argument, "no data: the model does not say what it was trained on; give --data");
}

}  // namespace mangrove::cli

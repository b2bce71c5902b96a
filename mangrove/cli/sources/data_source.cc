#include "mangrove/cli/sources/data_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/download.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {

Status download_data(const std::string& name, const std::string& data_dir, std::stop_token stop) {
  const fs::path folder = data::data_folder(data_dir);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  bool is_announced = false;  // once there is something to download: the name may be wrong, or of no download
  const auto show = [&](Bytes done, Bytes total) {
    if (!std::exchange(is_announced, true))
      std::fprintf(stderr, "downloading %s to %s\n", name.c_str(), folder.c_str());
    if (terminal) std::fprintf(stderr, "\r%s of %s ", format_bytes(done).c_str(), format_bytes(total).c_str());
  };
  const Status status = data::fetch_dataset(name, folder, show, stop);
  if (terminal && is_announced) std::fprintf(stderr, "\r\x1b[K");
  return status;
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

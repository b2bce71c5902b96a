#include "mangrove/cli/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace mangrove::cli {
namespace {

/// As a run leaves it that is killed while it writes.
bool ends_within_line(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() == 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

}  // namespace

Result<RunFolder> RunFolder::create(const std::string& path, const std::string& command) {
  fs::path folder = path;
  if (path.empty()) {
    const std::string stem = fmt::format("runs/{}-{:%Y%m%d-%H%M%S}", command, fmt::gmtime(std::time(nullptr)));
    folder = stem;
    std::error_code unreadable;  // then making the folder says why
    for (int n = 2; fs::exists(folder, unreadable); ++n) folder = fmt::format("{}-{}", stem, n);
  }
  MG_RETURN_IF_ERROR(make_writable_folder(folder).context("run folder"));
  RunFolder made(std::move(folder));
  MG_RETURN_IF_ERROR(make_writable_folder(made.logs()).context("run folder"));
  return made;
}

Status RunFolder::add_metrics(const std::string& json_line) {
  const fs::path file = path_ / "metrics.jsonl";
  if (!metrics_.is_open()) {
    const bool cut_off = ends_within_line(file);
    metrics_.open(file, append_ ? std::ios::app : std::ios::trunc);
    if (append_ && cut_off) metrics_ << '\n';
  }
  metrics_ << json_line << '\n' << std::flush;
  if (!metrics_) return make_error(Code::resource_exhausted, file.string() + ": cannot write");
  return {};
}

Status RunFolder::begin(const std::string& job_yaml) const {
  std::error_code not_there;
  for (const fs::path& old :
       {head_result_path(), checkpoint_path(kHeadPrefix), checkpoint_path(), path_ / "summary.json"})
    fs::remove(old, not_there);
  return write_file_atomically(job_path(), job_yaml);
}

Error RunFolder::with_resume_hint(Error error) const {
  std::error_code unreadable;
  if (fs::exists(checkpoint_path(), unreadable) || fs::exists(checkpoint_path(kHeadPrefix), unreadable)) {
    error.message += "; go on with: mangrove train --resume " + path_.string();
  }
  return error;
}

}  // namespace mangrove::cli

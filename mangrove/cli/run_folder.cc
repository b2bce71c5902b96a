#include "mangrove/cli/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "mangrove/cli/sources/model_source.h"

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
  if (Result<std::string> settings = read_file(made.job_path()); settings.ok()) made.job_yaml_ = *std::move(settings);
  return made;
}

Status RunFolder::write(const std::string& name, std::string_view content) {
  Status written = write_private_file(path_ / name, content);
  if (!written.ok() && written.code() == Code::not_found && make_again())
    written = write_private_file(path_ / name, content);
  return noted(name, std::move(written));
}

Status RunFolder::write_model(const std::string& prefix, std::string_view content, const std::string& signature) {
  const std::string name = prefix + "model.onnx", signature_name = name + kSignatureEnding;
  std::error_code not_there;
  fs::remove(path_ / signature_name, not_there);  // first: it is not of what is written now
  std::vector<fs::path> checkpoints = {checkpoint_path(prefix)};
  if (prefix.empty()) checkpoints.push_back(checkpoint_path(kHeadPrefix));
  Status written = write(name, content);
  if (!written.ok() && has_room_without(checkpoints, content.size())) {
    std::error_code error;  // then writing fails again, and says why
    for (const fs::path& checkpoint : checkpoints) fs::remove(checkpoint, error);
    written = write(name, content);
  }
  if (!written.ok()) {
    unwritten_models_.insert_or_assign(name, std::string(content));
    return written;
  }
  unwritten_models_.erase(name);
  for (const fs::path& checkpoint : checkpoints) unsaved_.erase(checkpoint.filename().string());
  return signature.empty() ? noted(signature_name, {}) : write(signature_name, signature);
}

Result<std::string> RunFolder::model(const std::string& prefix) const {
  const std::string name = prefix + "model.onnx";
  const auto unwritten = unwritten_models_.find(name);
  return unwritten != unwritten_models_.end() ? unwritten->second : read_file(path_ / name);
}

bool RunFolder::has_room_without(const std::vector<fs::path>& files, std::size_t needed) const {
  std::uintmax_t freed = 0;
  for (const fs::path& file : files) {
    std::error_code not_there;
    const std::uintmax_t size = fs::file_size(file, not_there);
    if (!not_there) freed += size;
  }
  std::error_code error;
  const fs::space_info disk = fs::space(path_, error);
  return freed > 0 && !error && disk.available + freed > needed;
}

/// With the settings that a resumed run needs.
bool RunFolder::make_again() const {
  return make_writable_folder(path_).ok() && (job_yaml_.empty() || write_private_file(job_path(), job_yaml_).ok());
}

Status RunFolder::add_metrics(const std::string& json_line) {
  const fs::path file = path_ / "metrics.jsonl";
  std::error_code unreadable;
  if (metrics_.is_open() && !fs::exists(file, unreadable)) metrics_.close();  // what is written now would be lost
  if (!metrics_.is_open()) {
    const bool cut_off = ends_within_line(file);
    metrics_.open(file, append_ ? std::ios::app : std::ios::trunc);
    if (!metrics_.is_open() && make_again()) metrics_.open(file, std::ios::app);
    if (append_ && cut_off) metrics_ << '\n';
    append_ = true;
  }
  metrics_ << json_line << '\n' << std::flush;
  Status added;
  if (!metrics_) {
    added = make_error(Code::resource_exhausted, file.string() + ": cannot write");
    metrics_.close();
    metrics_.clear();
  }
  return noted("metrics.jsonl", std::move(added));
}

Status RunFolder::noted(const std::string& name, Status written) {
  if (written.ok()) {
    unsaved_.erase(name);
  } else {
    unsaved_.insert_or_assign(name, written.error().message);
  }
  return written;
}

Status RunFolder::begin(const std::string& job_yaml) {
  std::error_code not_there;
  for (const fs::path& old :
       {head_result_path(), checkpoint_path(kHeadPrefix), checkpoint_path(), path_ / "summary.json"})
    fs::remove(old, not_there);
  job_yaml_ = job_yaml;
  return write_private_file(job_path(), job_yaml);
}

Status RunFolder::keep_settings(const std::string& job_yaml) {
  std::error_code unreadable;
  for (const fs::path& needs_its_own : {checkpoint_path(), checkpoint_path(kHeadPrefix)})
    if (fs::exists(needs_its_own, unreadable)) return {};
  return write(job_path().filename().string(), job_yaml);
}

Error RunFolder::with_resume_hint(Error error) const {
  for (const auto& [name, why] : unsaved_) error.message += "; not written: " + why;
  std::error_code unreadable;
  if (fs::exists(checkpoint_path(), unreadable) || fs::exists(checkpoint_path(kHeadPrefix), unreadable)) {
    error.message += "; resume with: mangrove train --resume " + path_.string();
  }
  return error;
}

}  // namespace mangrove::cli

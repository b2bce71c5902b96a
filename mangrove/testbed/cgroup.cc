#include "mangrove/testbed/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "mangrove/base/clock.h"

namespace mangrove::testbed {
namespace {

constexpr std::int64_t kPeriodUs = 20'000;  // short beside a training step, long beside the kernel's tick
constexpr Seconds kDieWithin = 10;
constexpr Seconds kPollEvery = 0.01;

Error system_error(const fs::path& path, int error) {
  const bool refused = error == EACCES || error == EPERM || error == EROFS;
  return make_error(refused ? Code::permission_denied : Code::unavailable, path.string() + ": " + std::strerror(error));
}

// A file of the kernel takes its value in one write.
Status write_value(const fs::path& file, const std::string& value) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return system_error(file, errno);
  const ssize_t written = write(fd, value.data(), value.size());
  const int error = errno;
  close(fd);
  if (written < 0) return system_error(file, error);
  return {};
}

// Files of the kernel say that they are empty, so they are read to their end.
std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  return value;
}

bool has_word(const std::string& list, std::string_view word, char separator) {
  std::istringstream words(list);
  for (std::string found; std::getline(words, found, separator);)
    if (found == word) return true;
  return false;
}

Status make_group(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return system_error(path, error.value());
  return {};
}

}  // namespace

Hierarchies Hierarchies::of_this_machine() {
  return parse(text_of("/proc/self/mounts"));
}

Hierarchies Hierarchies::parse(std::string_view mounts) {
  Hierarchies found;
  // a controller belongs to version 1 or to version 2, never to both
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, mount, type, options;
    words >> device >> mount >> type >> options;
    if (type != "cgroup" && type != "cgroup2") continue;
    const int version = type == "cgroup" ? 1 : 2;
    std::string controllers = version == 1 ? options : text_of(fs::path(mount) / "cgroup.controllers");
    while (!controllers.empty() && controllers.back() == '\n') controllers.pop_back();
    const char separator = version == 1 ? ',' : ' ';
    if (has_word(controllers, "cpu", separator)) found.cpu = {version, mount};
    if (has_word(controllers, "memory", separator)) found.memory = {version, mount};
  }
  return found;
}

Status ControlGroup::create(const std::string& controller) const {
  if (hierarchy_.version == 0)
    return make_error(Code::unavailable, "this system has no control groups for '" + controller + "'");
  const fs::path parent = path_.parent_path();
  MG_RETURN_IF_ERROR(make_group(parent));
  if (hierarchy_.version == 2)
    for (const fs::path& above : {hierarchy_.mount, parent})
      MG_RETURN_IF_ERROR(write_value(above / "cgroup.subtree_control", "+" + controller));
  return make_group(path_);
}

Status ControlGroup::limit_cpu(double share) const {
  const auto quota = static_cast<std::int64_t>(std::llround(share * static_cast<double>(kPeriodUs)));
  if (hierarchy_.version == 2) return write_value(path_ / "cpu.max", fmt::format("{} {}", quota, kPeriodUs));
  MG_RETURN_IF_ERROR(write_value(path_ / "cpu.cfs_period_us", std::to_string(kPeriodUs)));
  return write_value(path_ / "cpu.cfs_quota_us", std::to_string(quota));
}

Status ControlGroup::limit_memory(Bytes bytes) const {
  const std::string text = std::to_string(bytes);
  // a kernel without swap has no file for it
  if (hierarchy_.version == 2) {
    MG_RETURN_IF_ERROR(write_value(path_ / "memory.max", text));
    return fs::exists(path_ / "memory.swap.max") ? write_value(path_ / "memory.swap.max", "0") : Status();
  }
  MG_RETURN_IF_ERROR(write_value(path_ / "memory.limit_in_bytes", text));
  const fs::path with_swap = path_ / "memory.memsw.limit_in_bytes";
  return fs::exists(with_swap) ? write_value(with_swap, text) : Status();
}

std::optional<double> ControlGroup::cpu_limit() const {
  std::optional<std::int64_t> quota, period;
  if (hierarchy_.version == 2) {
    const std::string text = text_of(path_ / "cpu.max");
    quota = number_in(text);
    const std::size_t blank = text.find(' ');
    if (blank != std::string::npos) period = number_in(std::string_view(text).substr(blank + 1));
  } else {
    quota = number_in(text_of(path_ / "cpu.cfs_quota_us"));
    period = number_in(text_of(path_ / "cpu.cfs_period_us"));
  }
  if (!quota || !period || *quota < 0 || *period <= 0) return {};
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<Bytes> ControlGroup::memory_limit() const {
  constexpr Bytes kNone = Bytes{1} << 60;  // version 1 says a number near 2^63
  const auto limit = number_in(text_of(path_ / (hierarchy_.version == 2 ? "memory.max" : "memory.limit_in_bytes")));
  return limit && *limit < kNone ? limit : std::nullopt;
}

std::optional<Bytes> ControlGroup::memory_use() const {
  return number_in(text_of(path_ / (hierarchy_.version == 2 ? "memory.current" : "memory.usage_in_bytes")));
}

std::vector<fs::path> find_groups(const Hierarchies& hierarchies, const std::string& prefix) {
  std::vector<fs::path> groups;
  for (const fs::path& mount : {hierarchies.cpu.mount, hierarchies.memory.mount}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(mount, error))
      if (entry.is_directory(error) && entry.path().filename().string().starts_with(prefix))
        groups.push_back(entry.path());
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

Status remove_group(const fs::path& group) {
  std::error_code error;
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(group, error))
    if (entry.is_directory(error)) below.push_back(entry.path());
  for (const fs::path& child : below) MG_RETURN_IF_ERROR(remove_group(child));
  SteadyClock clock;
  const Deadline deadline = clock.after(kDieWithin);
  while (rmdir(group.c_str()) != 0 && errno != ENOENT) {
    if (errno != EBUSY) return system_error(group, errno);
    if (clock.now() > deadline)
      return make_error(Code::deadline_exceeded, group.string() + ": a process in it does not die");
    std::istringstream pids(text_of(group / "cgroup.procs"));
    for (pid_t pid = 0; pids >> pid;) {
      if (pid > 0) kill(pid, SIGKILL);  // 0: of another namespace of processes
    }
    clock.sleep_until(clock.after(kPollEvery));
  }
  return {};
}

}  // namespace mangrove::testbed

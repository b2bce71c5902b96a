#include "mangrove/cluster/resource_monitor.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "mangrove/base/process_cpu.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/base/temperature.h"
#include "mangrove/cluster/node_checks.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kShortest = 0.05;  // a share of less time than this is mostly noise

std::optional<int> core_number(const std::string& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < 0 || number >= kMostCores) return {};
  return number;
}

/// The cores that this process may use: control groups and affinity both show here.
std::vector<int> allowed_cores(const fs::path& root) {
  std::ifstream status(root / "proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Cpus_allowed_list:")) return parse_core_list(line.substr(line.find_last_of(" \t:") + 1));
  }
  return {};
}

}  // namespace

std::vector<int> parse_core_list(const std::string& text) {
  std::vector<int> cores;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::size_t dash = range.find('-');
    const auto first = core_number(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : core_number(range.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
  }
  return cores;
}

ResourceMonitor::ResourceMonitor(const Clock& clock, const fs::path& root)
    : clock_(clock),
      root_(root),
      sensors_(temperature_sensors(root)),
      sampled_(clock.now()),
      cpu_(process_cpu_time()),
      cores_(core_times()) {}

/// Of the cores that this process may use, in their order.
std::vector<ResourceMonitor::CoreTime> ResourceMonitor::core_times() const {
  const std::vector<int> allowed = allowed_cores(root_);
  std::vector<CoreTime> times;
  std::ifstream stat(root_ / "proc/stat");
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    if (line.starts_with("cpu ")) continue;  // the sum
    std::istringstream words(line.substr(3));
    int core = 0;
    words >> core;
    if (!std::binary_search(allowed.begin(), allowed.end(), core)) continue;
    CoreTime time;
    std::uint64_t ticks = 0;
    // user nice system idle iowait irq softirq steal; what follows is part of user and nice
    for (int column = 0; column < 8 && words >> ticks; ++column) {
      time.total += ticks;
      if (column != 3 && column != 4) time.busy += ticks;
    }
    times.push_back(time);
  }
  return times;
}

void ResourceMonitor::update_cpu(Instant now) {
  const Seconds cpu = process_cpu_time();
  percent_ = 100 * (cpu - cpu_) / (now - sampled_);
  sampled_ = now;
  cpu_ = cpu;
  std::vector<CoreTime> cores = core_times();
  core_percent_.clear();
  for (std::size_t i = 0; i < cores.size() && cores.size() == cores_.size(); ++i) {
    // the counters of a core that was taken out and put back begin anew
    const bool counted = cores[i].total > cores_[i].total && cores[i].busy >= cores_[i].busy;
    const auto busy = static_cast<double>(cores[i].busy - cores_[i].busy);
    const auto total = static_cast<double>(cores[i].total - cores_[i].total);
    core_percent_.push_back(counted ? static_cast<float>(std::min(100.0, 100 * busy / total)) : 0.0F);
  }
  cores_ = std::move(cores);
}

ProcessUse ResourceMonitor::sample() {
  const Instant now = clock_.now();
  if (now - sampled_ >= kShortest) update_cpu(now);
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return {.cpu_percent = percent_,
          .rss_bytes = resident_memory(),
          .minor_faults = use.ru_minflt,
          .major_faults = use.ru_majflt,
          .core_percent = core_percent_,
          .temperature_c = hottest_reading(sensors_)};
}

}  // namespace mangrove::cluster

#include "mangrove/cli/doctor.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "mangrove/base/clock.h"
#include "mangrove/base/format.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/cli/board.h"
#include "mangrove/cli/cluster_access.h"
#include "mangrove/cli/user_config.h"
#include "mangrove/cluster/discovery.h"
#include "mangrove/cluster/host.h"
#include "mangrove/cluster/reference_conv.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/backend.h"
#include "mangrove/testbed/cgroup.h"
#include "mangrove/testbed/tool.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using State = Finding::State;
using Findings = std::vector<Finding>;

constexpr Bytes kLittleMemory = 200'000'000, kLittleSpace = 500'000'000;
constexpr rlim_t kFewFiles = 4096;
constexpr std::uint16_t kUsualPort = 7070;

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

void examine_processor(Findings& findings) {
  const Board board = read_board();
  const cluster::Host host = cluster::describe_host();
  findings.push_back(
      {"processor", "model", State::good, board.processor.value_or(board.model.value_or("unknown")), ""});
  findings.push_back({"processor", "instructions", State::good,
                      board.features.empty() ? "no vector instructions that are known" : joined(board.features), ""});
  const int all = machine_cores();
  const bool is_limited = host.cores < all;
  findings.push_back({"processor", "cores", State::good,
                      is_limited ? fmt::format("{} of {}: a limit is set on this process", host.cores, all)
                                 : format_things(host.cores, "core"),
                      ""});
  const std::vector<std::string> backends(backend_names().begin(), backend_names().end());
  const bool is_slow = backends.front() == "portable";
  findings.push_back({"processor", "kernels", is_slow ? State::missing : State::good, joined(backends),
                      is_slow ? "this build has the slow portable kernels only: install oneDNN and build again" : ""});
  const Result<double> speed = cluster::measure_reference_conv(1, SteadyClock());
  findings.push_back({"processor", "speed", speed.ok() ? State::good : State::broken,
                      speed.ok() ? fmt::format("{} GFLOP/s of a convolution on one core", format_number(*speed / 1e9))
                                 : speed.error().message,
                      speed.ok() ? "" : "a convolution cannot be computed: report this"});
}

void examine_memory(Findings& findings) {
  const Bytes limit = memory_limit();
  const bool is_little = limit > 0 && limit < kLittleMemory;
  findings.push_back({"memory", "limit", is_little ? State::missing : State::good,
                      limit > 0 ? format_bytes(limit) + " for this process" : "not known",
                      is_little ? "train with --memory, or join a cluster for inference" : ""});
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const bool are_few = files.rlim_max != RLIM_INFINITY && files.rlim_max < kFewFiles;
  findings.push_back({"memory", "open files", are_few ? State::missing : State::good,
                      files.rlim_max == RLIM_INFINITY ? "no limit" : fmt::format("at most {}", files.rlim_max),
                      are_few ? "clusters of hundreds of nodes need more: ulimit -Hn" : ""});
}

Finding examine_folder(const fs::path& folder) {
  if (const Status writable = make_writable_folder(folder); !writable.ok())
    return {"data", "folder", State::broken, writable.error().message,
            "give --data-dir, or data_dir in " + user_config_path().string()};
  std::error_code code;
  const fs::space_info space = fs::space(folder, code);
  const auto free = code ? Bytes{0} : static_cast<Bytes>(space.available);
  const bool is_little = !code && free < kLittleSpace;
  return {"data", "folder", is_little ? State::missing : State::good,
          folder.string() + (code ? "" : ", " + format_bytes(free) + " free"),
          is_little ? "large data sets do not fit: give --data-dir on another disk" : ""};
}

/// What earlier jobs have left there for later ones.
std::string describe_folder(const fs::path& folder) {
  std::int64_t count = 0;
  Bytes bytes = 0;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    ++count;
    std::error_code size_code;
    const auto size = entry->file_size(size_code);
    if (!size_code) bytes += static_cast<Bytes>(size);
  }
  return count == 0 ? "none" : fmt::format("{}, {}", format_count(count), format_bytes(bytes));
}

void examine_data(Findings& findings) {
  const fs::path folder = data::data_folder("");
  findings.push_back(examine_folder(folder));
  std::vector<std::string> here, elsewhere;
  for (const std::string& name : data::dataset_names()) {
    const Result<bool> present = data::is_present(name, folder);
    (present.ok() && *present ? here : elsewhere).push_back(name);
  }
  findings.push_back({"data", "data sets", State::good, joined(here),
                      elsewhere.empty() ? "" : "`mangrove data fetch NAME` gets " + joined(elsewhere)});
  findings.push_back({"data", "networks kept", State::good, describe_folder(folder / "networks"), ""});
  findings.push_back({"data", "profiles kept", State::good, describe_folder(folder / "profiles"), ""});
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    char text[INET_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    addresses.push_back(fmt::format("{} ({})", text, one->ifa_name));
  }
  ::freeifaddrs(all);
  return addresses;
}

/// Whether a program could listen there. errno says why not.
bool can_listen(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const int reuse = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool can = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                   ::listen(descriptor, 1) == 0;
  ::close(descriptor);
  return can;
}

void examine_network(Findings& findings) {
  const std::vector<std::string> addresses = own_addresses();
  findings.push_back({"network", "addresses", addresses.empty() ? State::missing : State::good,
                      addresses.empty() ? "only this machine's own" : joined(addresses),
                      addresses.empty() ? "without a network there are clusters on this machine only (--local)" : ""});
  const bool works = can_listen(0);
  findings.push_back({"network", "ports", works ? State::good : State::broken,
                      works ? "programs can listen" : "no program can listen on 127.0.0.1",
                      works ? "" : "is the loopback interface up? `ip link set lo up`"});
  const bool is_free = can_listen(kUsualPort);
  findings.push_back({"network", "port 7070", State::good,
                      is_free ? "free" : "in use, perhaps by a coordinator: `mangrove nodes` asks it", ""});
  const Status asked = cluster::listen_for_coordinators(
      {}, SteadyClock().now(), [](const std::string&) {}, [] { return true; });
  findings.push_back({"network", "search", asked.ok() ? State::good : State::missing,
                      asked.ok() ? "the Avahi daemon answers" : asked.error().message,
                      asked.ok() ? ""
                                 : "without it, `mangrove node --join` tries only the address in its string: sudo apt "
                                   "install avahi-daemon"});
}

/// Whether `ip` can make a network namespace here. It is removed again.
Status can_make_namespace() {
  const std::string name = fmt::format("mangrove-doctor-{}", ::getpid());
  for (const char* action : {"add ", "del "})
    if (const Result<std::string> done = testbed::run_tool("ip netns " + (action + name)); !done.ok())
      return done.error();
  return {};
}

void examine_testbed(Findings& findings) {
  const bool is_root = ::geteuid() == 0;
  findings.push_back({"testbed", "root", is_root ? State::good : State::missing, is_root ? "yes" : "no",
                      is_root ? "" : "`mangrove testbed` and --testbed need it: sudo mangrove ..."});
  const testbed::Hierarchies groups = testbed::Hierarchies::of_this_machine();
  const auto examine_group = [&](const char* name, const testbed::Hierarchy& hierarchy) {
    const bool writable = hierarchy.version != 0 && ::access(hierarchy.mount.c_str(), W_OK) == 0;
    findings.push_back({"testbed", std::string(name) + " limits", writable ? State::good : State::missing,
                        hierarchy.version == 0 ? "no control groups of this kind"
                                               : fmt::format("control groups, version {}, in {}{}", hierarchy.version,
                                                             hierarchy.mount.string(), writable ? "" : ": read only"),
                        writable ? "" : "boards run without this limit: testbed up --no-limits"});
  };
  examine_group("processor", groups.cpu);
  examine_group("memory", groups.memory);
  const Status made = is_root ? can_make_namespace() : make_error(Code::permission_denied, "not tried: it needs root");
  findings.push_back({"testbed", "networks", made.ok() ? State::good : State::missing,
                      made.ok() ? "network namespaces can be made" : made.error().message,
                      made.ok() ? "" : "boards run without limits of their links: testbed up --no-limits"});
}

void examine_coordinator(const ClusterAccess& access, Findings& findings) {
  const std::string& address = access.coordinator;
  const auto client = connect_client(access, {});
  const auto nodes = client.ok() ? (*client)->nodes() : Result<std::vector<cluster::NodeStatus>>(client.error());
  findings.push_back({"configuration", "coordinator", nodes.ok() ? State::good : State::broken,
                      nodes.ok() ? fmt::format("{} answers, with {}", address,
                                               format_things(static_cast<std::int64_t>(nodes->size()), "node"))
                                 : nodes.error().message,
                      nodes.ok() ? "" : "start it, or change `coordinator` in " + user_config_path().string()});
}

/// Sets the folder of data sets, as commands do that are not this one.
void examine_configuration(Findings& findings) {
  const fs::path path = user_config_path();
  std::error_code code;
  const bool is_there = fs::exists(path, code);
  const Result<UserConfig> config = load_user_config(path);
  findings.push_back({"configuration", "file", config.ok() ? State::good : State::broken,
                      !config.ok() ? config.error().message : path.string() + (is_there ? "" : ": not there"),
                      config.ok() ? "" : "correct it, or remove it"});
  if (!config.ok()) return;
  if (!config->data_dir.empty()) ::setenv("MANGROVE_DATA", config->data_dir.c_str(), 0);
  if (!config->coordinator.empty()) examine_coordinator({config->coordinator, config->identity}, findings);
}

void examine_clock(Findings& findings) {
  constexpr std::time_t kYear2024 = 1'704'067'200;
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  timex state{};
  const bool is_set = ::adjtimex(&state) != TIME_ERROR;
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[40] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  const bool is_wrong = now < kYear2024;
  findings.push_back(
      {"clock", "time", is_wrong ? State::missing : State::good,
       std::string(text) + (is_set ? ", synchronised" : ", not synchronised"),
       is_wrong ? "names of run folders and logs will be wrong: set it, e.g. with systemd-timesyncd" : ""});
}

const char* state_name(State state) {
  return state == State::good ? "good" : state == State::missing ? "missing" : "broken";
}

}  // namespace

Findings examine_machine() {
  Findings configuration;
  examine_configuration(configuration);  // first: it says where the data is
  Findings findings;
  examine_processor(findings);
  examine_memory(findings);
  examine_data(findings);
  examine_network(findings);
  examine_testbed(findings);
  findings.insert(findings.end(), configuration.begin(), configuration.end());
  examine_clock(findings);
  return findings;
}

bool is_broken(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.state == State::broken; });
}

json doctor_json(const Findings& findings) {
  json list = json::array();
  for (const Finding& f : findings)
    list.push_back({{"group", f.group},
                    {"name", f.name},
                    {"state", state_name(f.state)},
                    {"found", f.found},
                    {"advice", f.advice}});
  return {{"ok", !is_broken(findings)}, {"findings", std::move(list)}};
}

std::string doctor_text(const Findings& findings) {
  std::string text, group;
  for (const Finding& f : findings) {
    if (f.group != group) text += f.group + "\n";
    group = f.group;
    text += fmt::format("  {:<8} {:<16} {}\n", f.state == State::good ? "" : state_name(f.state), f.name, f.found);
    if (!f.advice.empty()) text += fmt::format("{:>28}{}\n", "", f.advice);
  }
  const auto count = [&](State state) {
    return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.state == state; });
  };
  if (is_broken(findings)) return text + format_things(count(State::broken), "thing is", "things are") + " broken\n";
  const auto missing = count(State::missing);
  return text + (missing == 0 ? "all is well\n"
                              : "all that is needed works; " + format_things(missing, "thing is", "things are") +
                                    " missing that some commands use\n");
}

}  // namespace mangrove::cli

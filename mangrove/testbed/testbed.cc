#include "mangrove/testbed/testbed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/cluster/host.h"
#include "mangrove/cluster/local_cluster.h"
#include "mangrove/testbed/cgroup.h"
#include "mangrove/testbed/network.h"

namespace mangrove::testbed {
namespace {

/// A board's control groups, as far as it has limits.
struct BoardGroups {
  std::optional<ControlGroup> cpu;
  std::optional<ControlGroup> memory;
};

/// A shell that moves itself into the control groups, takes the board's name as its host name (nodes of equal host
/// names share their cores, these do not), and becomes the command behind it.
std::vector<std::string> board_command(const Board& board, const BoardGroups& groups, const std::string& netns) {
  std::vector<std::string> command{"/bin/sh", "-c"};
  std::string script;
  for (const auto& group : {groups.cpu, groups.memory})
    if (group) script += "echo $$ > '" + (group->path() / "cgroup.procs").string() + "' && ";
  script += "exec \"$@\"";
  command.insert(command.end(), {script, "board"});
  if (netns.empty()) return command;
  command.insert(command.end(),
                 {"/usr/bin/nsenter", "--net=/run/netns/" + netns, "/usr/bin/unshare", "--uts", "/bin/sh", "-c",
                  "echo " + board.name + " > /proc/sys/kernel/hostname; exec \"$@\"", "board"});
  return command;
}

bool any(const std::vector<Board>& boards, bool (*has)(const Board&)) {
  return std::any_of(boards.begin(), boards.end(), has);
}

}  // namespace

struct Testbed::Impl {
  explicit Impl(Slot taken) : slot(std::move(taken)) {}
  ~Impl();

  Status limit(const std::vector<Board>& boards, bool limits_or_fail);
  Status limit_cpu(const std::vector<Board>& boards);
  Status limit_memory(const std::vector<Board>& boards);
  Status link(const std::vector<Board>& boards);
  Status start_nodes(const TestbedOptions& options, const std::vector<Board>& boards);
  void make_record(const TestbedOptions& options, const std::vector<Board>& boards);

  Slot slot;
  Hierarchies hierarchies = Hierarchies::of_this_machine();
  std::vector<BoardGroups> groups;
  std::unique_ptr<Network> network;  // nullptr: the boards use this machine's
  std::unique_ptr<cluster::LocalCluster> nodes;
  Record record;
};

Testbed::Impl::~Impl() {
  nodes.reset();
  network.reset();
  if (const Status cleaned = clean(slot); !cleaned.ok())
    log_warn("testbed: something stays", {{"reason", cleaned.error().message}});
}

Status Testbed::Impl::limit_cpu(const std::vector<Board>& boards) {
  for (std::size_t i = 0; i < boards.size(); ++i) {
    if (boards[i].cpu == 0) continue;
    const ControlGroup group(hierarchies.cpu, group_name(slot.number()), boards[i].name);
    MG_RETURN_IF_ERROR(group.create("cpu"));
    MG_RETURN_IF_ERROR(group.limit_cpu(boards[i].cpu));
    groups[i].cpu = group;
  }
  return {};
}

Status Testbed::Impl::limit_memory(const std::vector<Board>& boards) {
  for (std::size_t i = 0; i < boards.size(); ++i) {
    if (boards[i].memory == 0) continue;
    const ControlGroup group(hierarchies.memory, group_name(slot.number()), boards[i].name);
    MG_RETURN_IF_ERROR(group.create("memory"));
    MG_RETURN_IF_ERROR(group.limit_memory(boards[i].memory));
    groups[i].memory = group;
  }
  return {};
}

Status Testbed::Impl::link(const std::vector<Board>& boards) {
  MG_TRY(network, Network::create(slot.number(), NetworkPlan(slot.number(), boards)));
  return {};
}

/// Sets what the boards ask for; what cannot be set is left out, or is the reason not to go on.
Status Testbed::Impl::limit(const std::vector<Board>& boards, bool limits_or_fail) {
  groups.resize(boards.size());
  struct Limit {
    const char* name;
    bool is_asked_for;
    std::function<Status()> set;
  };
  const Limit limits[] = {
      {"CPU shares", any(boards, [](const Board& b) { return b.cpu > 0; }), [&] { return limit_cpu(boards); }},
      {"memory limits", any(boards, [](const Board& b) { return b.memory > 0; }), [&] { return limit_memory(boards); }},
      {"links (rate, delay, jitter, loss)",
       any(boards, [](const Board& b) { return b.rate > 0 || b.has_line_faults(); }), [&] { return link(boards); }}};
  std::string missing;
  for (const Limit& limit : limits) {
    const Status set = limit.is_asked_for ? limit.set() : Status();
    if (set.ok()) continue;
    if (!limits_or_fail) log_warn("testbed: boards go without", {{"limit", limit.name}, {"why", set.error().message}});
    missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", limit.name, set.error().message);
  }
  if (missing.empty() || !limits_or_fail) return {};
  return make_error(Code::permission_denied, fmt::format("cannot set the boards' {}; {}--no-limits goes on without",
                                                         missing, geteuid() == 0 ? "" : "run as root, or "));
}

Status Testbed::Impl::start_nodes(const TestbedOptions& options, const std::vector<Board>& boards) {
  cluster::LocalClusterOptions local;
  local.program = options.program;
  local.threads = options.threads;
  local.data_folder = options.data_folder;
  local.log_folder = options.log_folder;
  local.insecure = options.insecure;
  if (network) local.host = network->plan().address;
  for (std::size_t i = 0; i < boards.size(); ++i) {
    const BoardLink* own = network ? &network->plan().links[i] : nullptr;
    local.nodes.push_back({.name = boards[i].name,
                           .host = own != nullptr ? own->address : local.host,
                           .within = board_command(boards[i], groups[i], own != nullptr ? own->netns : std::string())});
  }
  MG_TRY(nodes, cluster::LocalCluster::start(local));
  return {};
}

void Testbed::Impl::make_record(const TestbedOptions& options, const std::vector<Board>& boards) {
  record.slot = slot.number();
  record.owner = getpid();
  record.file = fs::absolute(options.file).lexically_normal();
  record.coordinator = nodes->coordinator();
  for (std::size_t i = 0; i < boards.size(); ++i)
    record.nodes.push_back({.board = boards[i],
                            .pid = nodes->node_pids()[i],
                            .netns = network ? network->plan().links[i].netns : std::string(),
                            .port = network ? network->plan().links[i].port : std::string(),
                            .cpu = groups[i].cpu ? groups[i].cpu->path().string() : std::string(),
                            .memory = groups[i].memory ? groups[i].memory->path().string() : std::string()});
}

Testbed::Testbed(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Testbed>> Testbed::start(const TestbedOptions& options) {
  MG_TRY(std::vector<Board> boards, load_boards(options.file));
  if (options.boards > boards.size())
    return make_error(Code::invalid_argument, fmt::format("{} has {} boards, {} are asked for", options.file.string(),
                                                          boards.size(), options.boards));
  if (options.boards > 0) boards.resize(options.boards);
  MG_TRY(Slot slot, take_clean_slot());
  auto impl = std::make_unique<Impl>(std::move(slot));
  MG_RETURN_IF_ERROR(impl->limit(boards, options.limits_or_fail));
  double cores = 0;
  for (const Board& board : boards) cores += board.cpu;
  if (const int here = cluster::describe_host().cores; cores > here)
    log_warn("testbed: the boards' shares are more than this machine has", {{"shares", cores}, {"cores", here}});
  MG_RETURN_IF_ERROR(impl->start_nodes(options, boards));
  impl->make_record(options, boards);
  MG_RETURN_IF_ERROR(write_record(impl->record));
  return std::unique_ptr<Testbed>(new Testbed(std::move(impl)));
}

Testbed::~Testbed() = default;

std::shared_ptr<const net::Credentials> Testbed::credentials() const {
  return impl_->nodes->credentials();
}

const Record& Testbed::record() const {
  return impl_->record;
}

}  // namespace mangrove::testbed

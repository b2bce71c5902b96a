#include "mangrove/testbed/control.h"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "mangrove/base/clock.h"
#include "mangrove/base/stop.h"
#include "mangrove/testbed/cgroup.h"
#include "mangrove/testbed/network_plan.h"
#include "mangrove/testbed/tool.h"

namespace mangrove::testbed {
namespace {

constexpr Seconds kDownWithin = 30;
constexpr Seconds kDiesWithin = 10;
constexpr Seconds kLookEvery = 0.05;

/// Waits until the owner has let go of the slot, and takes it. Nothing at the deadline.
std::optional<Slot> await_slot(const Record& record, Deadline deadline) {
  SteadyClock clock;
  while (true) {
    if (std::optional<Slot> slot = Slot::take(record.slot)) return slot;
    if (clock.now() > deadline) return {};
    clock.sleep_until(clock.after(kLookEvery));
  }
}

bool has_another_owner(const Record& record) {
  for (const Record& now : all_records())
    if (now.slot == record.slot) return now.owner != record.owner;
  return true;  // taken down
}

/// What follows `key` in `text`, up to the next blank.
std::string word_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const std::size_t start = at + key.size();
  return text.substr(start, text.find_first_of(" \n", start) - start);
}

}  // namespace

std::vector<Record> find_testbeds(const fs::path& file) {
  const fs::path wanted = fs::absolute(file).lexically_normal();
  std::vector<Record> found;
  for (Record& record : all_records())
    if (record.file == wanted) found.push_back(std::move(record));
  return found;
}

bool is_up(const Record& record) {
  return !Slot::take(record.slot);
}

Status take_down(const Record& record) {
  SteadyClock clock;
  std::optional<Slot> slot = Slot::take(record.slot);
  for (const auto& [signal_number, patience] : {std::pair(SIGTERM, kDownWithin), std::pair(SIGKILL, kDiesWithin)}) {
    if (slot || has_another_owner(record)) break;
    if (kill(record.owner, signal_number) != 0 && errno == EPERM)
      return make_error(Code::permission_denied, "process " + std::to_string(record.owner) +
                                                     ", which owns the testbed: " + std::strerror(EPERM));
    slot = await_slot(record, clock.after(patience));
  }
  return slot ? clean(*slot) : Status();
}

namespace {

/// Neither gone nor a zombie that its parent has not asked for yet.
bool is_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = stat.rfind(") ");  // the state is behind the name, which may hold anything
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

}  // namespace

BoardState observe(const Record::Node& node) {
  const Hierarchies hierarchies = Hierarchies::of_this_machine();
  BoardState state;
  state.is_running = is_running(node.pid);
  if (!node.cpu.empty()) state.cpu = ControlGroup(hierarchies.cpu, node.cpu).cpu_limit();
  if (!node.memory.empty()) {
    const ControlGroup group(hierarchies.memory, node.memory);
    state.memory_limit = group.memory_limit();
    state.memory_use = group.memory_use();
  }
  if (node.port.empty()) return state;
  if (const auto queues = run_tool("tc qdisc show dev " + node.port); queues.ok())
    state.rate = word_after(*queues, " rate ");
  const auto port = run_tool("ip -d link show dev " + node.port);
  state.is_cut = !port.ok() || word_after(*port, "bridge_slave state ") != "forwarding";
  return state;
}

Status cut_link(const Record::Node& node, Seconds duration, std::stop_token stop) {
  if (node.port.empty())
    return make_error(Code::failed_precondition, "board '" + node.board.name + "' has no link of its own");
  MG_RETURN_IF_ERROR(run_tool(cut_command(node.port, true)));
  wait_for_stop(stop, duration);
  MG_RETURN_IF_ERROR(run_tool(cut_command(node.port, false)));
  return {};
}

}  // namespace mangrove::testbed

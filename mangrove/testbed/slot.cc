#include "mangrove/testbed/slot.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/log.h"
#include "mangrove/testbed/cgroup.h"
#include "mangrove/testbed/network.h"

namespace mangrove::testbed {
namespace {

using nlohmann::json;

fs::path record_folder() {
  if (geteuid() == 0) return "/run/mangrove-testbed";
  return fs::temp_directory_path() / fmt::format("mangrove-testbed-{}", geteuid());
}

fs::path record_path(int slot) {
  return record_folder() / fmt::format("{}.json", slot);
}

/// Every slot of which something is left; those in use are among them.
std::set<int> used_slots(const Hierarchies& hierarchies) {
  std::set<int> slots;
  for (const Record& record : all_records()) slots.insert(record.slot);
  const std::string prefix = group_name(0).substr(0, group_name(0).size() - 1);
  for (const fs::path& group : find_groups(hierarchies, prefix))
    for (int slot = 0; slot < kSlots; ++slot)
      if (group.filename() == group_name(slot)) slots.insert(slot);
  if (const auto found = find_network_slots(); found.ok()) slots.insert(found->begin(), found->end());
  return slots;
}

Record::Node node_of(const json& entry) {
  Record::Node node;
  node.board.name = entry.at("name");
  node.board.cpu = entry.at("cpu");
  node.board.memory = entry.at("memory");
  node.board.rate = entry.at("rate");
  node.board.delay = entry.at("delay");
  node.board.jitter = entry.at("jitter");
  node.board.loss = entry.at("loss");
  node.pid = entry.at("pid");
  node.netns = entry.at("netns");
  node.port = entry.at("port");
  node.cpu = entry.at("cpu_group");
  node.memory = entry.at("memory_group");
  return node;
}

}  // namespace

std::string Record::to_json() const {
  json entries = json::array();
  for (const Node& node : nodes) {
    const Board& board = node.board;
    entries.push_back({{"name", board.name},
                       {"cpu", board.cpu},
                       {"memory", board.memory},
                       {"rate", board.rate},
                       {"delay", board.delay},
                       {"jitter", board.jitter},
                       {"loss", board.loss},
                       {"pid", node.pid},
                       {"netns", node.netns},
                       {"port", node.port},
                       {"cpu_group", node.cpu},
                       {"memory_group", node.memory}});
  }
  const json all = {{"slot", slot},
                    {"owner", owner},
                    {"file", file.string()},
                    {"coordinator", coordinator},
                    {"boards", std::move(entries)}};
  return dump(all, 1) + "\n";
}

Result<Record> Record::parse(const std::string& text) {
  try {
    const json all = json::parse(text);
    Record record;
    record.slot = all.at("slot");
    record.owner = all.at("owner");
    if (record.owner <= 1) return make_error(Code::data_loss, "not the record of a testbed: it names no owner");
    record.file = all.at("file").get<std::string>();
    record.coordinator = all.at("coordinator");
    for (const json& entry : all.at("boards")) record.nodes.push_back(node_of(entry));
    return record;
  } catch (const json::exception& error) {
    return make_error(Code::data_loss, std::string("not the record of a testbed: ") + error.what());
  }
}

std::optional<Slot> Slot::take(int number) {
  // a name that no file stands for: the kernel frees it with its last descriptor
  const std::string name = group_name(number);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Descriptor lock(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (lock.get() < 0 || bind(lock.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
  return Slot(number, std::move(lock));
}

Status clean(const Slot& slot) {
  Status first;
  const auto note = [&](Status done) {
    if (!done.ok() && first.ok()) first = std::move(done);
  };
  for (const fs::path& group : find_groups(Hierarchies::of_this_machine(), group_name(slot.number())))
    if (group.filename() == group_name(slot.number())) note(remove_group(group));  // and the processes in them
  if (const auto remains = find_network(slot.number()); remains.ok() && !remains->empty())
    note(remove_network(slot.number()));
  std::error_code error;
  fs::remove(record_path(slot.number()), error);
  if (error) note(make_error(Code::permission_denied, record_path(slot.number()).string() + ": " + error.message()));
  return first;
}

Result<Slot> take_clean_slot() {
  std::set<int> blocked;
  for (const int number : used_slots(Hierarchies::of_this_machine())) {
    const std::optional<Slot> slot = Slot::take(number);
    const Status cleaned = slot ? clean(*slot) : Status();
    if (cleaned.ok()) continue;
    blocked.insert(number);
    log_warn("testbed: remains of an earlier one stay", {{"slot", number}, {"reason", cleaned.error().message}});
  }
  for (int number = 0; number < kSlots; ++number)
    if (!blocked.contains(number))
      if (std::optional<Slot> slot = Slot::take(number)) return std::move(*slot);
  return make_error(Code::resource_exhausted, fmt::format("{} testbeds are up on this machine: no room", kSlots));
}

std::vector<Record> all_records() {
  std::vector<Record> records;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(record_folder(), error)) {
    const Result<std::string> text = read_file(entry.path());
    Result<Record> record = text.ok() ? Record::parse(*text) : Result<Record>(text.error());
    if (record.ok()) records.push_back(std::move(*record));
  }
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.slot < b.slot; });
  return records;
}

Status write_record(const Record& record) {
  MG_RETURN_IF_ERROR(make_writable_folder(record_folder()));
  return write_file_atomically(record_path(record.slot), record.to_json());
}

}  // namespace mangrove::testbed

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/testbed/board_file.h"
#include "mangrove/testbed/relay.h"

namespace mangrove::testbed {

/// What others must know of a testbed that is up: a file that its owner writes.
struct Record {
  struct Node {
    Board board;
    pid_t pid = 0;
    std::string netns;        // its network namespace; empty: this machine's
    std::string port;         // of the bridge; empty as netns
    std::string cpu, memory;  // paths of its control groups; empty: it has none
  };
  int slot = 0;
  pid_t owner = 0;
  fs::path file;            // the board file, absolute
  std::string coordinator;  // HOST:PORT
  std::vector<Node> nodes;

  std::string to_json() const;
  /// errors: data_loss.
  static Result<Record> parse(const std::string& json);
};

/// The right to make and remove what is named after one slot. The kernel keeps it for this process, and takes it back
/// when the process ends, however that comes: a testbed whose slot can be taken has no owner any more.
class Slot {
 public:
  /// Empty where a process owns it already.
  static std::optional<Slot> take(int number);
  int number() const { return number_; }

 private:
  Slot(int number, Descriptor lock) : number_(number), lock_(std::move(lock)) {}
  int number_;
  Descriptor lock_;
};

/// The first free slot. Before, everything that testbeds without an owner have left on this machine is removed:
/// processes, namespaces, devices, control groups, records. errors: resource_exhausted (all slots are taken); what
/// cannot be removed is logged, and its slot not used.
Result<Slot> take_clean_slot();

/// Removes all that is named after a slot that this process owns. errors: of the first thing that stays.
Status clean(const Slot& slot);

/// Of every testbed with a record, its owner alive or not.
std::vector<Record> all_records();
Status write_record(const Record& record);

}  // namespace mangrove::testbed

#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/testbed/slot.h"

namespace mangrove::testbed {

/// The testbeds of this board file on this machine that have not been taken down, whoever started them.
std::vector<Record> find_testbeds(const fs::path& file);

/// Whether its owner lives. If not, its processes are dead and what is left waits to be removed.
bool is_up(const Record& record);

/// Has its owner take it down, and waits for that; one that does not within 30 s is killed. What then is left is
/// removed. errors: permission_denied (the owner is another user's), those of clean().
Status take_down(const Record& record);

/// What this machine says of a board now, read back from the kernel.
struct BoardState {
  bool is_running = false;
  bool is_cut = false;
  std::optional<double> cpu;  // share of a core
  std::optional<Bytes> memory_limit;
  std::optional<Bytes> memory_use;
  std::string rate;  // as tc writes it; empty: no limit
};
BoardState observe(const Record::Node& node);

/// Cuts the board's link for so long, or until stop is requested: nothing gets through, and neither end is told.
/// errors: failed_precondition (it has no link of its own), those of run_tool.
Status cut_link(const Record::Node& node, Seconds duration, std::stop_token stop);

}  // namespace mangrove::testbed

#pragma once

#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::testbed {

/// One emulated board: what a process on it may use of this machine, and its link. 0 means: not limited.
struct Board {
  std::string name;         // lower-case letters, digits and dashes; its host name
  double cpu = 0;           // share of a core; 1.5: one and a half cores
  Bytes memory = 0;         // of all that runs on it; more is the end of the process, as on a board without swap
  BytesPerSecond rate = 0;  // of its link, up and down each, with Ethernet's and IP's headers
  Seconds delay = 0;        // one way, in each direction: a round trip takes twice as long
  Seconds jitter = 0;       // each frame's delay is uniform within delay -+ jitter
  double loss = 0;          // share of the frames, in each direction

  bool has_line_faults() const { return delay > 0 || jitter > 0 || loss > 0; }
};

/// The boards of a YAML file, in its order: one section for each kind of board, with the keys above and `count`. A kind
/// with a count gives NAME-1 .. NAME-COUNT. Keys outside sections hold for every kind. docs/testbed.md shows examples.
/// errors: not_found; invalid_argument (unknown key, with the nearest known one; a value that does not fit; a name that
/// cannot be a host name, or is there twice; more than kMostBoards; names file and line).
Result<std::vector<Board>> load_boards(const fs::path& path);

constexpr int kMostBoards = 250;  // addresses of one testbed

}  // namespace mangrove::testbed

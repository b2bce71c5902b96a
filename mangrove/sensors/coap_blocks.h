#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "mangrove/base/clock.h"
#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// Bodies that come in blocks, one at a time from each peer. They are bounded: each, and all that are not whole
/// together. source: RFC 7959, Block-Wise Transfers in CoAP, 2.5 (Block1). threads: one.
class CoapBlocks {
 public:
  struct Limits {
    Bytes body = 1'000'000;
    Bytes all = 16'000'000;
    Seconds within = 60;  // from a block to the next one
  };
  explicit CoapBlocks(const Limits& limits) : limits_(limits) {}

  enum class State {
    more,        // the next block is awaited
    whole,       // the body is in `body`
    incomplete,  // a block before this one is missing: the peer has to begin anew
    too_long,
    no_room,  // the bodies of other messages take it now
  };
  struct Step {
    State state = State::more;
    std::string body = {};
  };
  /// The bytes of one block. offset: of its first byte in the body. A block that has come before changes nothing.
  Step add(std::uint64_t peer, std::size_t offset, bool has_more, std::string_view bytes, Instant now);
  void forget(std::uint64_t peer);
  Bytes bytes() const { return bytes_; }

 private:
  struct Body {
    std::string bytes;
    Instant last;
  };
  void forget_old(Instant now);
  const Limits limits_;
  std::map<std::uint64_t, Body> bodies_;
  Bytes bytes_ = 0;
};

}  // namespace mangrove::sensors

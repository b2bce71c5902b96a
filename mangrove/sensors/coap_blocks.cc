#include "mangrove/sensors/coap_blocks.h"

#include <utility>

namespace mangrove::sensors {

void CoapBlocks::forget(std::uint64_t peer) {
  const auto found = bodies_.find(peer);
  if (found == bodies_.end()) return;
  bytes_ -= static_cast<Bytes>(found->second.bytes.size());
  bodies_.erase(found);
}

void CoapBlocks::forget_old(Instant now) {
  for (auto it = bodies_.begin(); it != bodies_.end();) {
    const auto here = it++;
    if (now - here->second.last > limits_.within) forget(here->first);
  }
}

CoapBlocks::Step CoapBlocks::add(std::uint64_t peer, std::size_t offset, bool has_more, std::string_view bytes,
                                 Instant now) {
  forget_old(now);
  if (offset == 0 && !has_more && static_cast<Bytes>(bytes.size()) <= limits_.body) {
    forget(peer);
    return {State::whole, std::string(bytes)};
  }
  const auto known = bodies_.find(peer);
  const std::size_t have = known == bodies_.end() ? 0 : known->second.bytes.size();
  if (has_more && known != bodies_.end() && offset + bytes.size() <= have && offset > 0) return {State::more};
  if (offset == 0) forget(peer);
  if (offset != 0 && offset != have) {
    forget(peer);
    return {State::incomplete};
  }
  if (static_cast<Bytes>(offset + bytes.size()) > limits_.body) {
    forget(peer);
    return {State::too_long};
  }
  if (bytes_ + static_cast<Bytes>(bytes.size()) > limits_.all) {
    forget(peer);
    return {State::no_room};
  }
  Body& body = bodies_[peer];
  body.bytes += bytes;
  body.last = now;
  bytes_ += static_cast<Bytes>(bytes.size());
  if (has_more) return {State::more};
  std::string whole = body.bytes;
  forget(peer);
  return {State::whole, std::move(whole)};
}

}  // namespace mangrove::sensors

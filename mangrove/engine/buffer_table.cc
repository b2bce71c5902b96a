#include "mangrove/engine/buffer_table.h"

#include <algorithm>
#include <cstddef>

#include "mangrove/base/check.h"
#include "mangrove/engine/memory_plan.h"

namespace mangrove {
namespace {

Bytes round_up(Bytes bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

BufferId BufferTable::add(Bytes bytes, Life life, Region region) {
  const auto id = static_cast<BufferId>(buffers_.size());
  buffers_.push_back({.bytes = bytes, .life = life, .region = region, .owner = id});
  return id;
}

void BufferTable::use(BufferId buffer, int step) {
  Buffer& used = buffers_[static_cast<std::size_t>(buffer)];
  used.first = used.first < 0 ? step : std::min(used.first, step);
  used.last = std::max(used.last, step);
}

void BufferTable::share_view(BufferId original, BufferId view) {
  const BufferId owner = owner_of(original);
  Buffer& from = buffers_[static_cast<std::size_t>(owner)];
  Buffer& to = buffers_[static_cast<std::size_t>(view)];
  const bool in_arena = from.region == Region::arena && to.region == Region::arena;
  if (!in_arena || to.life == Life::whole_run || to.owner != view || owner == view) return;
  from.last = std::max(from.last, to.last);
  to.owner = owner;
}

void BufferTable::extend(BufferId buffer, int first, int last) {
  const BufferId owner = owner_of(buffer);
  use(owner, first);
  use(owner, last);
}

BufferId BufferTable::owner_of(BufferId buffer) const {
  while (buffers_[static_cast<std::size_t>(buffer)].owner != buffer) {
    buffer = buffers_[static_cast<std::size_t>(buffer)].owner;
  }
  return buffer;
}

void BufferTable::share_in_place(int step, BufferId input, BufferId output) {
  const BufferId owner = owner_of(input);
  Buffer& from = buffers_[static_cast<std::size_t>(owner)];
  Buffer& to = buffers_[static_cast<std::size_t>(output)];
  const bool in_arena = from.region == Region::arena && to.region == Region::arena;
  if (!in_arena || from.life == Life::whole_run || to.owner != output) return;
  if (owner == output || from.last != step || to.first != step) return;
  from.bytes = std::max(from.bytes, to.bytes);
  from.last = to.last;
  from.life = to.life;
  to.owner = owner;
}

BufferTable::Placement BufferTable::place(int steps) const {
  Placement placement;
  placement.places.resize(buffers_.size());
  std::vector<BufferLife> lives;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.region == Region::parameters) {
      placement.places[i] = {Region::parameters, placement.memory.parameters};
      placement.memory.parameters += round_up(buffer.bytes);
      continue;
    }
    placement.memory.activations += round_up(buffer.bytes);
    if (buffer.owner != static_cast<BufferId>(i)) continue;
    const bool whole_run = buffer.life == Life::whole_run;
    MG_CHECK(whole_run || buffer.first >= 0);
    lives.push_back({buffer.bytes, whole_run ? 0 : buffer.first, whole_run ? std::max(steps - 1, 0) : buffer.last});
    owners.push_back(i);
  }
  const MemoryPlan plan = plan_memory(lives);
  placement.memory.arena = plan.total;
  for (std::size_t k = 0; k < owners.size(); ++k) placement.places[owners[k]] = {Region::arena, plan.offsets[k]};
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    placement.places[i] = placement.places[static_cast<std::size_t>(owner_of(static_cast<BufferId>(i)))];
  }
  return placement;
}

}  // namespace mangrove

#pragma once

#include <utility>
#include <vector>

#include "mangrove/engine/program.h"

namespace mangrove {

/// Index of a buffer in a BufferTable.
using BufferId = int;
constexpr BufferId kNoBuffer = -1;

/// The buffers of a program in the making: who uses them when, which pairs may share memory, and in the end where each
/// lies.
class BufferTable {
 public:
  using Region = BufferRef::Region;
  enum class Life {
    uses,       // from its first to its last use
    whole_run,  // the user may read or write it between runs
  };

  BufferId add(Bytes bytes, Life life, Region region = Region::arena);
  /// `step` counts forward and backward steps through.
  void use(BufferId buffer, int step);

  /// Lets `output` lie where `input` does, if step `step` is the last use of `input` and the first of `output`.
  /// Call after every use() is known, in step order.
  void share_in_place(int step, BufferId input, BufferId output);

  /// Lets `view`, a copy of `original` that nobody changes, lie where the original does. The same rule for calls.
  void share_view(BufferId original, BufferId view);

  /// The buffer whose memory this one shares; itself if its own.
  BufferId owner_of(BufferId buffer) const;
  Bytes bytes(BufferId buffer) const { return buffers_[static_cast<std::size_t>(buffer)].bytes; }
  /// Whether it is planned by its uses: in the arena, and not for the whole run.
  bool is_planned(BufferId buffer) const {
    const Buffer& asked = buffers_[static_cast<std::size_t>(buffer)];
    return asked.region == Region::arena && asked.life == Life::uses;
  }
  Region region(BufferId buffer) const { return buffers_[static_cast<std::size_t>(buffer)].region; }
  /// Its first and last step, with those of what lies in its memory; -1: none.
  std::pair<int, int> life(BufferId buffer) const {
    const Buffer& asked = buffers_[static_cast<std::size_t>(buffer)];
    return {asked.first, asked.last};
  }
  std::size_t size() const { return buffers_.size(); }

  void resize(BufferId buffer, Bytes bytes) { buffers_[static_cast<std::size_t>(buffer)].bytes = bytes; }
  /// Keeps the memory in which the buffer lies over the steps [first, last]. Call after share_in_place.
  void extend(BufferId buffer, int first, int last);

  bool same_memory(BufferId a, BufferId b) const { return owner_of(a) == owner_of(b); }

  struct Placement {
    std::vector<BufferRef> places;  // by BufferId
    MemoryReport memory;
  };
  Placement place(int steps) const;

 private:
  struct Buffer {
    Bytes bytes = 0;
    Life life = Life::uses;
    Region region = Region::arena;
    int first = -1;  // step of the first use; -1: none
    int last = -1;
    BufferId owner = kNoBuffer;  // the buffer whose memory this one shares; itself if its own
  };
  std::vector<Buffer> buffers_;
};

}  // namespace mangrove

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove {

/// Makes sure that the samples of a batch stay apart: sample n of every result depends on sample n of the inputs alone.
///
/// A dimension of k N places holds, for each of `outer` things, N samples of k / outer places each: N heads after one
/// another have `outer` 1, [T N] of a sequence has `outer` T. Operators keep that order, but for Reshape and Flatten,
/// which may only merge dimensions with it and take them out again.
/// threads: one at a time.
class SampleOrder {
 public:
  /// Notes how the outputs of a node lie; the nodes before it have been noted, and all shapes are in `values`.
  /// errors: unimplemented (the node would mix samples; the message names it and both shapes).
  Status note(const Node& node, const Values& values);

  /// `outer` of a value with the symbolic shape `shape`, were it reshaped to `reshaped`, which has as many elements and
  /// is symbolic, too; nothing where that would mix samples. 0: any, because all places are alike.
  std::optional<std::int64_t> outer_in(const std::string& value, const Shape& shape, const Shape& reshaped) const;

 private:
  static constexpr std::int64_t kAny = 0;  // all places are alike, or whoever cut the graph knows the order

  std::int64_t outer_of(const std::string& value, const Shape& shape) const;
  Status note_reshaped(const Node& node, const Values& values);
  Status note_kept(const Node& node, const std::string& output, const Values& values);

  std::map<std::string, std::int64_t> outer_;  // of values that have several places for each sample
};

}  // namespace mangrove

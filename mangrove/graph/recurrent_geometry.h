#pragma once

#include <array>
#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// An RNN, GRU or LSTM node resolved against its inputs. X is [T, N, I] (layout 0) or [N, T, I] (layout 1), output Y
/// [T, D, N, H] or [N, T, D, H], states [D, N, H] or [N, D, H].
struct RecurrentGeometry {
  std::int64_t steps = 1;  // T
  std::int64_t batch = 1;  // negative where it is symbolic
  std::int64_t inputs = 1;
  std::int64_t hidden = 1;
  std::int64_t directions = 1;
  std::int64_t gates = 1;  // LSTM 4 (i, o, f, c), GRU 3 (z, r, h), RNN 1
  bool batch_first = false;
  bool starts_reversed = false;               // the only direction runs from the end
  bool linear_before_reset = false;           // GRU: the reset gate works on what the recurrence gives
  std::array<bool, 2> relu = {false, false};  // RNN, per direction: Relu instead of Tanh

  bool is_reversed(std::int64_t direction) const { return starts_reversed || direction == 1; }
  Shape y_shape() const {
    return batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  }
  Shape state_shape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
};

/// errors: invalid_argument (shapes that do not fit), unimplemented (other activations, clip, coupled gates, sequences
/// of different lengths).
Result<RecurrentGeometry> recurrent_geometry(const Node& node, const Shape& x, const Shape& weights);

}  // namespace mangrove

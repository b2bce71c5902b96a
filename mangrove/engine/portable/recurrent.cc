// RNN, GRU and LSTM: all steps' products with the input at once, then the cells one after the other; backward through
// time in reverse (Werbos, Backpropagation through time, 1990).
#include "mangrove/engine/portable/recurrent.h"

#include <algorithm>
#include <array>

#include "mangrove/base/check.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

enum Input : std::size_t { kX, kWeights, kRecurrence, kBias, kLengths, kInitialH, kInitialC, kPeepholes };
enum Output : std::size_t { kY, kLastH, kLastC };

/// Sizes and places, in elements. Buffers of all steps have a row for each row of X, in X's order.
struct Places {
  explicit Places(const RecurrentGeometry& geometry)
      : g(geometry), all_rows(g.steps * g.batch), width(g.gates * g.hidden) {}

  /// The rows of step t in a buffer of all steps.
  template <class T>
  Rows<T> at_step(T* buffer, std::int64_t t, std::int64_t columns) const {
    return g.batch_first ? Rows<T>{buffer + t * columns, g.steps * columns}
                         : Rows<T>{buffer + t * g.batch * columns, columns};
  }
  /// The rows of direction d in an initial or last state; none where there is none.
  template <class T>
  Rows<T> state(T* buffer, std::int64_t d) const {
    if (buffer == nullptr) return {};
    return g.batch_first ? Rows<T>{buffer + d * g.hidden, g.directions * g.hidden}
                         : Rows<T>{buffer + d * g.batch * g.hidden, g.hidden};
  }
  /// The rows of step t and direction d in Y.
  template <class T>
  Rows<T> y(T* buffer, std::int64_t t, std::int64_t d) const {
    if (buffer == nullptr) return {};
    return g.batch_first ? Rows<T>{buffer + (t * g.directions + d) * g.hidden, g.steps * g.directions * g.hidden}
                         : Rows<T>{buffer + (t * g.directions + d) * g.batch * g.hidden, g.hidden};
  }

  RecurrentGeometry g;
  std::int64_t all_rows;
  std::int64_t width;  // of all gates
};

template <class T>
void copy_rows(const Places& at, Rows<const T> from, Rows<T> to) {
  for (std::int64_t n = 0; n < at.g.batch; ++n) std::copy_n(from.row(n), at.g.hidden, to.row(n));
}

/// What both passes work on: one direction's parameters and what forward saves of it.
template <class T>
struct DirectionState {
  CellParameters<T> parameters;
  T *gates, *h, *extra;                // of all steps
  Rows<const T> initial_h, initial_c;  // may be none
  bool reversed;

  /// The k-th step in the direction's order of time.
  CellStep<T> step(const Places& at, std::int64_t k, bool has_cells) const {
    const std::int64_t H = at.g.hidden;
    const auto time = [&](std::int64_t i) { return reversed ? at.g.steps - 1 - i : i; };
    CellStep<T> step;
    step.gates = at.at_step(gates, time(k), at.width);
    step.extra = at.at_step(extra, time(k), H);
    step.h = at.at_step(h, time(k), H);
    step.h_before = k == 0 ? initial_h : read_only(at.at_step(h, time(k - 1), H));
    if (has_cells) step.c_before = k == 0 ? initial_c : read_only(at.at_step(extra, time(k - 1), H));
    return step;
  }
};

constexpr const char* kGates = "gates";
constexpr const char* kHidden = "hidden";
constexpr const char* kExtra = "extra";

/// Positions of the operands that forward and backward have in common.
struct Operands {
  std::size_t x, weights, recurrence, bias, initial_h, initial_c, peepholes;
  std::size_t gates, hidden, extra;
};

Operands add_common(const KernelRequest& request, const Places& at, std::size_t element, bool is_forward,
                    OperandList& list) {
  const auto input = [&](std::size_t i) {
    return list.add_if(has_input(request, i), [&] { return read_value(request.node.inputs[i]); });
  };
  const auto saved = [&](const char* name, std::int64_t columns) {
    const Bytes bytes = at.g.directions * at.all_rows * columns * static_cast<Bytes>(element);
    return list.add(is_forward ? write_saved(name, bytes) : read_saved(name, bytes));
  };
  return {.x = input(kX),
          .weights = input(kWeights),
          .recurrence = input(kRecurrence),
          .bias = input(kBias),
          .initial_h = input(kInitialH),
          .initial_c = input(kInitialC),
          .peepholes = input(kPeepholes),
          .gates = saved(kGates, at.width),
          .hidden = saved(kHidden, at.g.hidden),
          .extra = saved(kExtra, at.g.hidden)};
}

/// values + d * stride, or null.
template <class T>
T* slice(T* values, std::int64_t d, std::int64_t stride) {
  return values == nullptr ? nullptr : values + d * stride;
}

template <class T>
DirectionState<T> direction_state(const Places& at, const Operands& operands, const Buffers& buffers, std::int64_t d) {
  const std::int64_t H = at.g.hidden;
  DirectionState<T> state;
  state.parameters = {.recurrence = buffers.as<const T>(operands.recurrence) + d * at.width * H,
                      .bias = slice(buffers.as<const T>(operands.bias), d, 2 * at.width),
                      .peepholes = slice(buffers.as<const T>(operands.peepholes), d, 3 * H),
                      .relu = at.g.relu[static_cast<std::size_t>(d)]};
  state.gates = buffers.as<T>(operands.gates) + d * at.all_rows * at.width;
  state.h = buffers.as<T>(operands.hidden) + d * at.all_rows * H;
  state.extra = buffers.as<T>(operands.extra) + d * at.all_rows * H;
  state.initial_h = at.state(buffers.as<const T>(operands.initial_h), d);
  state.initial_c = at.state(buffers.as<const T>(operands.initial_c), d);
  state.reversed = at.g.is_reversed(d);
  return state;
}

/// A GRU's candidate adds its recurrent bias itself, inside what is reset.
std::int64_t biased_by_recurrence(const Places& at) {
  return at.g.gates == 3 ? 2 * at.g.hidden : at.width;
}

/// gates = W x + bias for all steps.
template <class T>
void project_input(const Places& at, const CellMath<T>& math, const T* x, const T* weights, const T* bias, T* gates) {
  in_parallel(at.all_rows, threads_for(at.all_rows * at.width, math.threads), [&](std::int64_t row) {
    T* to = gates + row * at.width;
    if (bias == nullptr) {
      std::fill_n(to, at.width, T(0));
      return;
    }
    std::copy_n(bias, at.width, to);
    for (std::int64_t j = 0; j < biased_by_recurrence(at); ++j) to[j] += bias[at.width + j];
  });
  math.multiply(at.all_rows, at.width, at.g.inputs, T(1), matrix(x, at.all_rows, at.g.inputs),
                matrix(weights, at.width, at.g.inputs).transposed(), gates, at.width);
}

template <class Cell, class T>
Step recurrent_forward_step(const KernelRequest& request, const Places& at, const CellMath<T>& math) {
  OperandList list;
  const Operands operands = add_common(request, at, sizeof(T), true, list);
  const auto output = [&](std::size_t i) {
    return list.add_if(has_output(request, i), [&] { return write_value(request.output_names[i]); });
  };
  const std::size_t y = output(kY), last_h = output(kLastH), last_c = output(kLastC);
  const bool has_cells = std::is_same_v<Cell, LstmCell>;
  return make_step(request, "forward", list.take(), [=](const Buffers& buffers) {
    const RecurrentGeometry& g = at.g;
    for (std::int64_t d = 0; d < g.directions; ++d) {
      const DirectionState<T> state = direction_state<T>(at, operands, buffers, d);
      project_input(at, math, buffers.as<const T>(operands.x),
                    buffers.as<const T>(operands.weights) + d * at.width * g.inputs, state.parameters.bias,
                    state.gates);
      for (std::int64_t k = 0; k < g.steps; ++k) Cell::forward(g, math, state.parameters, state.step(at, k, has_cells));
      const CellStep<T> last = state.step(at, g.steps - 1, has_cells);
      if (T* to = buffers.as<T>(last_h)) copy_rows(at, read_only(last.h), at.state(to, d));
      if (T* to = buffers.as<T>(last_c)) copy_rows(at, read_only(last.extra), at.state(to, d));
      for (std::int64_t t = 0; buffers.as<T>(y) != nullptr && t < g.steps; ++t) {
        copy_rows(at, read_only(at.at_step(state.h, t, g.hidden)), at.y(buffers.as<T>(y), t, d));
      }
    }
  });
}

/// Where the gradients lie; kNoOperand for those that nobody has or wants.
struct GradientOperands {
  std::size_t y, last_h, last_c;                                              // read
  std::size_t x, weights, recurrence, bias, initial_h, initial_c, peepholes;  // written
};

GradientOperands add_gradients(const KernelRequest& request, OperandList& list) {
  const auto read = [&](std::size_t i) {
    return list.add_if(has_output(request, i), [&] { return read_gradient(request.output_names[i]); });
  };
  const auto write = [&](std::size_t i) {
    return list.add_if(wants_gradient(request, i), [&] { return write_gradient(request.node.inputs[i]); });
  };
  return {.y = read(kY),
          .last_h = read(kLastH),
          .last_c = read(kLastC),
          .x = write(kX),
          .weights = write(kWeights),
          .recurrence = write(kRecurrence),
          .bias = write(kBias),
          .initial_h = write(kInitialH),
          .initial_c = write(kInitialC),
          .peepholes = write(kPeepholes)};
}

/// Scratch space of the backward pass: dh, dc and a cell's own [N, H] each, then the gates' gradients of all steps.
template <class T>
struct Scratch {
  Scratch(const Places& at, std::byte* workspace)
      : dh{reinterpret_cast<T*>(workspace), at.g.hidden},
        dc{dh.data + at.g.batch * at.g.hidden, at.g.hidden},
        cell{dc.data + at.g.batch * at.g.hidden, at.g.hidden},
        dgates(cell.data + at.g.batch * at.g.hidden) {}
  static Bytes bytes(const Places& at) {
    return (3 * at.g.batch * at.g.hidden + at.all_rows * at.width) * static_cast<Bytes>(sizeof(T));
  }

  Rows<T> dh, dc, cell;
  T* dgates;
};

template <class T>
void add_rows(const Places& at, Rows<const T> from, Rows<T> to) {
  for (std::int64_t n = 0; n < at.g.batch; ++n) {
    for (std::int64_t j = 0; j < at.g.hidden; ++j) to.row(n)[j] += from.row(n)[j];
  }
}

/// Runs the cells backward: fills scratch.dgates, leaves the gradients of the initial states in dh and dc.
template <class Cell, class T>
void run_backward(const Places& at, const CellMath<T>& math, const DirectionState<T>& state,
                  const GradientOperands& gradients, const Buffers& buffers, std::int64_t d,
                  const Scratch<T>& scratch) {
  const RecurrentGeometry& g = at.g;
  const std::int64_t H = g.hidden;
  const bool has_cells = std::is_same_v<Cell, LstmCell>;
  std::fill_n(scratch.dh.data, 2 * g.batch * H, T(0));
  if (const T* last = buffers.as<const T>(gradients.last_h)) copy_rows(at, at.state(last, d), scratch.dh);
  if (const T* last = buffers.as<const T>(gradients.last_c)) copy_rows(at, at.state(last, d), scratch.dc);
  CellGradients<T> cell;
  cell.dh = scratch.dh;
  cell.dc = scratch.dc;
  cell.scratch = scratch.cell;
  cell.drecurrence = slice(buffers.as<T>(gradients.recurrence), d, at.width * H);
  cell.drecurrent_bias = slice(buffers.as<T>(gradients.bias), 2 * d + 1, at.width);
  cell.dpeepholes = slice(buffers.as<T>(gradients.peepholes), d, 3 * H);
  for (std::int64_t k = g.steps - 1; k >= 0; --k) {
    const std::int64_t t = state.reversed ? g.steps - 1 - k : k;
    if (const T* dy = buffers.as<const T>(gradients.y)) add_rows(at, at.y(dy, t, d), scratch.dh);
    cell.dgates = at.at_step(scratch.dgates, t, at.width);
    Cell::backward(g, math, state.parameters, state.step(at, k, has_cells), cell);
  }
}

/// The gradients of what enters all steps alike: X, W and the biases.
template <class T>
void input_gradients(const Places& at, const CellMath<T>& math, const Operands& operands,
                     const GradientOperands& gradients, const Buffers& buffers, std::int64_t d, const T* dgates) {
  const RecurrentGeometry& g = at.g;
  const Matrix<T> steps = matrix(dgates, at.all_rows, at.width);
  if (T* dx = buffers.as<T>(gradients.x)) {
    const T* weights = buffers.as<const T>(operands.weights) + d * at.width * g.inputs;
    math.multiply(at.all_rows, g.inputs, at.width, T(1), steps, matrix(weights, at.width, g.inputs), dx, g.inputs);
  }
  if (T* dweights = buffers.as<T>(gradients.weights)) {
    math.multiply(at.width, g.inputs, at.all_rows, T(1), steps.transposed(),
                  matrix(buffers.as<const T>(operands.x), at.all_rows, g.inputs), dweights + d * at.width * g.inputs,
                  g.inputs);
  }
  T* dbias = slice(buffers.as<T>(gradients.bias), d, 2 * at.width);
  for (std::int64_t row = 0; dbias != nullptr && row < at.all_rows; ++row) {
    const T* of_row = dgates + row * at.width;
    for (std::int64_t j = 0; j < at.width; ++j) dbias[j] += of_row[j];
    for (std::int64_t j = 0; j < biased_by_recurrence(at); ++j) dbias[at.width + j] += of_row[j];
  }
}

template <class T>
void clear(const Places& at, const GradientOperands& gradients, const Buffers& buffers) {
  const RecurrentGeometry& g = at.g;
  const auto zero = [&](std::size_t operand, std::int64_t elements) {
    if (T* values = buffers.as<T>(operand)) std::fill_n(values, elements, T(0));
  };
  zero(gradients.x, at.all_rows * g.inputs);
  zero(gradients.weights, g.directions * at.width * g.inputs);
  zero(gradients.recurrence, g.directions * at.width * g.hidden);
  zero(gradients.bias, g.directions * 2 * at.width);
  zero(gradients.peepholes, g.directions * 3 * g.hidden);
}

template <class Cell, class T>
Step recurrent_backward_step(const KernelRequest& request, const Places& at, const CellMath<T>& math) {
  OperandList list;
  const Operands operands = add_common(request, at, sizeof(T), false, list);
  const GradientOperands gradients = add_gradients(request, list);
  return make_step_with_workspace(request, "backward", list.take(), Scratch<T>::bytes(at),
                                  [=](const Buffers& buffers, std::byte* workspace) {
                                    clear<T>(at, gradients, buffers);
                                    const Scratch<T> scratch(at, workspace);
                                    for (std::int64_t d = 0; d < at.g.directions; ++d) {
                                      const DirectionState<T> state = direction_state<T>(at, operands, buffers, d);
                                      run_backward<Cell>(at, math, state, gradients, buffers, d, scratch);
                                      input_gradients(at, math, operands, gradients, buffers, d, scratch.dgates);
                                      if (T* to = buffers.as<T>(gradients.initial_h))
                                        copy_rows(at, read_only(scratch.dh), at.state(to, d));
                                      if (T* to = buffers.as<T>(gradients.initial_c))
                                        copy_rows(at, read_only(scratch.dc), at.state(to, d));
                                    }
                                  });
}

template <class Cell, class T>
NodeKernels recurrent_kernels_of(const KernelRequest& request, const RecurrentGeometry& g, const CellMath<T>& math) {
  const Places at(g);
  NodeKernels kernels;
  kernels.forward.push_back(recurrent_forward_step<Cell, T>(request, at, math));
  bool any = false;
  for (std::size_t i = 0; i < request.node.inputs.size(); ++i) any = any || wants_gradient(request, i);
  if (any) kernels.backward.push_back(recurrent_backward_step<Cell, T>(request, at, math));
  return kernels;
}

Result<RecurrentGeometry> recurrent_geometry_of(const KernelRequest& request) {
  return recurrent_geometry(request.node, request.inputs[kX].shape, request.inputs[kWeights].shape);
}

template <class Cell>
Result<NodeKernels> make_recurrent(const KernelRequest& request) {
  MG_TRY(const RecurrentGeometry geometry, recurrent_geometry_of(request));
  return for_type(request.inputs[kX].dtype, [&](auto zero) {
    using T = decltype(zero);
    return recurrent_kernels_of<Cell, T>(request, geometry, CellMath<T>{.threads = request.threads});
  });
}

struct RecurrentRow {
  std::string_view op;
  Result<NodeKernels> (*make)(const KernelRequest&);
  NodeKernels (*make_f32)(const KernelRequest&, const RecurrentGeometry&, const CellMath<float>&);
};

template <class Cell>
constexpr RecurrentRow row_of(std::string_view op) {
  return {op, make_recurrent<Cell>, recurrent_kernels_of<Cell, float>};
}

constexpr std::array kRecurrentRows{row_of<GruCell>("GRU"), row_of<LstmCell>("LSTM"), row_of<RnnCell>("RNN")};

}  // namespace

Result<NodeKernels> make_recurrent_of(const KernelRequest& request, const CellMath<float>& math) {
  const auto* row = std::ranges::find(kRecurrentRows, request.node.op, &RecurrentRow::op);
  MG_CHECK_MSG(row != kRecurrentRows.end(), request.node.op);
  MG_TRY(const RecurrentGeometry geometry, recurrent_geometry_of(request));
  return row->make_f32(request, geometry, math);
}

std::vector<KernelRow> recurrent() {
  std::vector<KernelRow> rows;
  rows.reserve(kRecurrentRows.size());
  for (const RecurrentRow& row : kRecurrentRows) rows.push_back({row.op, row.make});
  return rows;
}

}  // namespace mangrove::portable

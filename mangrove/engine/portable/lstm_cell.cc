#include "mangrove/engine/portable/recurrent_cell.h"

namespace mangrove::portable {
namespace {

/// The gates of one sample, in ONNX's order; the candidate is what the input gate lets in.
template <class T>
struct Gates {
  Gates(T* row, std::int64_t H) : input(row), output(row + H), forget(row + 2 * H), candidate(row + 3 * H) {}
  T *input, *output, *forget, *candidate;
};

/// A value that may be left out: element j, or 0.
template <class T>
T at(const T* values, std::int64_t j) {
  return values == nullptr ? T(0) : values[j];
}

/// Activates the gates of one sample, and makes c_t and h_t. `before`, which is c_(t-1), and `peephole` may be null.
template <class T>
void forward_sample(const CellMath<T>& math, std::int64_t H, const T* peephole, const T* before, const Gates<T>& gate,
                    T* c, T* h) {
  if (peephole != nullptr && before != nullptr) {
    for (std::int64_t j = 0; j < H; ++j) gate.input[j] += peephole[j] * before[j];
    for (std::int64_t j = 0; j < H; ++j) gate.forget[j] += peephole[2 * H + j] * before[j];
  }
  math.sigmoid(H, gate.input, gate.input);
  math.sigmoid(H, gate.forget, gate.forget);
  math.tanh(H, gate.candidate, gate.candidate);
  for (std::int64_t j = 0; j < H; ++j) c[j] = gate.input[j] * gate.candidate[j];
  for (std::int64_t j = 0; before != nullptr && j < H; ++j) c[j] += gate.forget[j] * before[j];
  for (std::int64_t j = 0; peephole != nullptr && j < H; ++j) gate.output[j] += peephole[H + j] * c[j];
  math.sigmoid(H, gate.output, gate.output);
  math.tanh(H, c, h);
  for (std::int64_t j = 0; j < H; ++j) h[j] *= gate.output[j];
}

}  // namespace

template <class T>
void LstmCell::forward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                       const CellStep<T>& step) {
  const std::int64_t H = g.hidden;
  if (step.h_before) {
    math.add_product(g.batch, 4 * H, H, step.h_before, matrix(p.recurrence, 4 * H, H).transposed(), step.gates);
  }
  math.for_each_sample(g, [&](std::int64_t n) {
    forward_sample(math, H, p.peepholes, step.c_before ? step.c_before.row(n) : nullptr, Gates<T>(step.gates.row(n), H),
                   step.extra.row(n), step.h.row(n));
  });
}

namespace {

/// Gradients of one sample's gates before their activations, from those of h_t and c_t.
template <class T>
void gate_gradients(const CellMath<T>& math, std::int64_t H, const T* peephole, const CellStep<T>& step,
                    const CellGradients<T>& d, std::int64_t n) {
  const Gates<T> gate(step.gates.row(n), H), dgate(d.dgates.row(n), H);
  const T *c = step.extra.row(n), *before = step.c_before ? step.c_before.row(n) : nullptr;
  T *dh = d.dh.row(n), *dc = d.dc.row(n), *squashed_c = d.scratch.row(n);
  math.tanh(H, c, squashed_c);
  for (std::int64_t j = 0; j < H; ++j) {
    const T i = gate.input[j], o = gate.output[j], f = gate.forget[j], a = gate.candidate[j];
    const T squashed = squashed_c[j], past = at(before, j);
    dgate.output[j] = dh[j] * squashed * o * (1 - o);
    const T of_c =
        dc[j] + dh[j] * o * (1 - squashed * squashed) + (peephole ? peephole[H + j] * dgate.output[j] : T(0));
    dgate.input[j] = of_c * a * i * (1 - i);
    dgate.forget[j] = of_c * past * f * (1 - f);
    dgate.candidate[j] = of_c * i * (1 - a * a);
    dc[j] = of_c * f;
    if (peephole) dc[j] += peephole[j] * dgate.input[j] + peephole[2 * H + j] * dgate.forget[j];
    dh[j] = 0;
  }
}

template <class T>
void add_peephole_gradients(std::int64_t H, const CellStep<T>& step, const CellGradients<T>& d, std::int64_t n) {
  const Gates<T> dgate(d.dgates.row(n), H);
  const T *c = step.extra.row(n), *before = step.c_before ? step.c_before.row(n) : nullptr;
  for (std::int64_t j = 0; j < H; ++j) {
    d.dpeepholes[j] += dgate.input[j] * at(before, j);
    d.dpeepholes[H + j] += dgate.output[j] * c[j];
    d.dpeepholes[2 * H + j] += dgate.forget[j] * at(before, j);
  }
}

}  // namespace

template <class T>
void LstmCell::backward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                        const CellStep<T>& step, const CellGradients<T>& d) {
  const std::int64_t H = g.hidden;
  math.for_each_sample(g, [&](std::int64_t n) { gate_gradients(math, H, p.peepholes, step, d, n); });
  for (std::int64_t n = 0; d.dpeepholes != nullptr && n < g.batch; ++n) add_peephole_gradients(H, step, d, n);
  math.add_product(g.batch, H, 4 * H, read_only(d.dgates), matrix(p.recurrence, 4 * H, H), d.dh);
  if (step.h_before && d.drecurrence != nullptr) {
    math.add_outer(g.batch, 4 * H, H, read_only(d.dgates), step.h_before, d.drecurrence);
  }
}

MANGROVE_INSTANTIATE_CELL(LstmCell);

}  // namespace mangrove::portable

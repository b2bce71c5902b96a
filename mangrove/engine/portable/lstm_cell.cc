#include "mangrove/engine/portable/recurrent_cell.h"

namespace mangrove::portable {
namespace {

/// The gates of one sample, in ONNX's order; the candidate is what the input gate lets in.
template <class T>
struct Gates {
  Gates(T* row, std::int64_t H) : input(row), output(row + H), forget(row + 2 * H), candidate(row + 3 * H) {}
  T *input, *output, *forget, *candidate;
};

/// A parameter that may be left out: element j, or 0.
template <class T>
T at(const T* values, std::int64_t j) {
  return values == nullptr ? T(0) : values[j];
}

}  // namespace

template <class T>
void LstmCell::forward(const RecurrentGeometry& g, const CellParameters<T>& p, const CellStep<T>& step) {
  const std::int64_t H = g.hidden;
  if (step.h_before) {
    add_product(g.batch, 4 * H, H, step.h_before, matrix(p.recurrence, 4 * H, H).transposed(), step.gates);
  }
  const T* peephole = p.peepholes;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    const Gates<T> gate(step.gates.row(n), H);
    T *c = step.extra.row(n), *h = step.h.row(n);
    const T* before = step.c_before ? step.c_before.row(n) : nullptr;
    for (std::int64_t j = 0; j < H; ++j) {
      const T past = at(before, j);
      gate.input[j] = sigmoid(gate.input[j] + (peephole ? peephole[j] * past : T(0)));
      gate.forget[j] = sigmoid(gate.forget[j] + (peephole ? peephole[2 * H + j] * past : T(0)));
      gate.candidate[j] = std::tanh(gate.candidate[j]);
      c[j] = gate.forget[j] * past + gate.input[j] * gate.candidate[j];
      gate.output[j] = sigmoid(gate.output[j] + (peephole ? peephole[H + j] * c[j] : T(0)));
      h[j] = gate.output[j] * std::tanh(c[j]);
    }
  }
}

namespace {

/// Gradients of one sample's gates before their activations, from those of h_t and c_t.
template <class T>
void gate_gradients(std::int64_t H, const T* peephole, const CellStep<T>& step, const CellGradients<T>& d,
                    std::int64_t n) {
  const Gates<T> gate(step.gates.row(n), H), dgate(d.dgates.row(n), H);
  const T *c = step.extra.row(n), *before = step.c_before ? step.c_before.row(n) : nullptr;
  T *dh = d.dh.row(n), *dc = d.dc.row(n);
  for (std::int64_t j = 0; j < H; ++j) {
    const T i = gate.input[j], o = gate.output[j], f = gate.forget[j], a = gate.candidate[j];
    const T squashed = std::tanh(c[j]), past = at(before, j);
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
  if (d.dpeepholes == nullptr) return;
  for (std::int64_t j = 0; j < H; ++j) {
    d.dpeepholes[j] += dgate.input[j] * at(before, j);
    d.dpeepholes[H + j] += dgate.output[j] * c[j];
    d.dpeepholes[2 * H + j] += dgate.forget[j] * at(before, j);
  }
}

}  // namespace

template <class T>
void LstmCell::backward(const RecurrentGeometry& g, const CellParameters<T>& p, const CellStep<T>& step,
                        const CellGradients<T>& d) {
  const std::int64_t H = g.hidden;
  for (std::int64_t n = 0; n < g.batch; ++n) gate_gradients(H, p.peepholes, step, d, n);
  add_product(g.batch, H, 4 * H, read_only(d.dgates), matrix(p.recurrence, 4 * H, H), d.dh);
  if (step.h_before && d.drecurrence != nullptr) {
    add_outer(g.batch, 4 * H, H, read_only(d.dgates), step.h_before, d.drecurrence);
  }
}

MANGROVE_INSTANTIATE_CELL(LstmCell);

}  // namespace mangrove::portable

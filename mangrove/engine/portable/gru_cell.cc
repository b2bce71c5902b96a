#include "mangrove/engine/portable/recurrent_cell.h"

namespace mangrove::portable {
namespace {

template <class T>
Rows<T> shifted(Rows<T> rows, std::int64_t by) {
  return {rows.data + by, rows.stride};
}

/// The recurrence's part for the candidate: weights and bias.
template <class T>
Matrix<T> candidate_recurrence(const CellParameters<T>& p, std::int64_t H) {
  return matrix(p.recurrence + 2 * H * H, H, H);
}

}  // namespace

// gates: z, r, candidate. With linear_before_reset, extra is R h_(t-1) + b for the candidate; else r h_(t-1).
template <class T>
void GruCell::forward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                      const CellStep<T>& step) {
  const std::int64_t H = g.hidden;
  const auto before = [&](std::int64_t n, std::int64_t j) { return step.h_before ? step.h_before.row(n)[j] : T(0); };
  if (step.h_before) {
    math.add_product(g.batch, 2 * H, H, step.h_before, matrix(p.recurrence, 2 * H, H).transposed(), step.gates);
  }
  const T* bias = p.bias == nullptr ? nullptr : p.bias + 5 * H;
  math.for_each_sample(g, [&](std::int64_t n) {
    T *gates = step.gates.row(n), *extra = step.extra.row(n);
    math.sigmoid(2 * H, gates, gates);
    for (std::int64_t j = 0; j < H; ++j) {
      const T b = bias == nullptr ? T(0) : bias[j];
      extra[j] = g.linear_before_reset ? b : gates[H + j] * before(n, j);
      if (!g.linear_before_reset) gates[2 * H + j] += b;
    }
  });
  const Matrix<T> recurrence = candidate_recurrence(p, H).transposed();
  if (step.h_before && g.linear_before_reset) {
    math.add_product(g.batch, H, H, step.h_before, recurrence, step.extra);
  } else if (step.h_before) {
    math.add_product(g.batch, H, H, read_only(step.extra), recurrence, shifted(step.gates, 2 * H));
  }
  math.for_each_sample(g, [&](std::int64_t n) {
    T *z = step.gates.row(n), *r = z + H, *candidate = z + 2 * H, *extra = step.extra.row(n), *h = step.h.row(n);
    for (std::int64_t j = 0; g.linear_before_reset && j < H; ++j) candidate[j] += r[j] * extra[j];
    math.tanh(H, candidate, candidate);
    for (std::int64_t j = 0; j < H; ++j) h[j] = (1 - z[j]) * candidate[j] + z[j] * before(n, j);
  });
}

namespace {

/// Gradients of z and the candidate before their activations; scratch: of what the candidate's recurrence gives; dh:
/// what passes by the gates to h_(t-1).
template <class T>
void first_gradients(const RecurrentGeometry& g, const CellStep<T>& step, const CellGradients<T>& d, std::int64_t n) {
  const std::int64_t H = g.hidden;
  const T *z = step.gates.row(n), *r = z + H, *candidate = z + 2 * H;
  const T* before = step.h_before ? step.h_before.row(n) : nullptr;
  T *dz = d.dgates.row(n), *dcandidate = dz + 2 * H, *dh = d.dh.row(n), *of_recurrence = d.scratch.row(n);
  for (std::int64_t j = 0; j < H; ++j) {
    const T past = before == nullptr ? T(0) : before[j];
    dz[j] = dh[j] * (past - candidate[j]) * z[j] * (1 - z[j]);
    dcandidate[j] = dh[j] * (1 - z[j]) * (1 - candidate[j] * candidate[j]);
    of_recurrence[j] = dcandidate[j] * (g.linear_before_reset ? r[j] : T(1));
    dh[j] *= z[j];
  }
}

/// The gradient of r; without linear_before_reset from `of_reset`, the gradient of r h_(t-1).
template <class T>
void reset_gradient(const RecurrentGeometry& g, const CellStep<T>& step, const CellGradients<T>& d, const T* of_reset,
                    std::int64_t n) {
  const std::int64_t H = g.hidden;
  const T* r = step.gates.row(n) + H;
  const T* before = step.h_before ? step.h_before.row(n) : nullptr;
  T *dr = d.dgates.row(n) + H, *dcandidate = d.dgates.row(n) + 2 * H, *dh = d.dh.row(n);
  for (std::int64_t j = 0; j < H; ++j) {
    const T past = before == nullptr ? T(0) : before[j];
    const T of_r = g.linear_before_reset ? dcandidate[j] * step.extra.row(n)[j] : of_reset[j] * past;
    if (!g.linear_before_reset) dh[j] += of_reset[j] * r[j];
    dr[j] = of_r * r[j] * (1 - r[j]);  // may lie where of_reset[j] does
  }
}

}  // namespace

template <class T>
void GruCell::backward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                       const CellStep<T>& step, const CellGradients<T>& d) {
  const std::int64_t H = g.hidden;
  math.for_each_sample(g, [&](std::int64_t n) { first_gradients(g, step, d, n); });
  if (d.drecurrent_bias != nullptr) {  // of the candidate
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t j = 0; j < H; ++j) d.drecurrent_bias[2 * H + j] += d.scratch.row(n)[j];
    }
  }
  if (step.h_before && d.drecurrence != nullptr) {
    const Rows<const T> into = g.linear_before_reset ? step.h_before : read_only(step.extra);
    math.add_outer(g.batch, H, H, read_only(d.scratch), into, d.drecurrence + 2 * H * H);
  }
  const Matrix<T> recurrence = candidate_recurrence(p, H);
  if (g.linear_before_reset) {
    math.add_product(g.batch, H, H, read_only(d.scratch), recurrence, d.dh);
  } else {  // the product takes the place of what it is made from: by way of the gradient of r, not yet written
    const Rows<T> of_reset = shifted(d.dgates, H);
    for (std::int64_t n = 0; n < g.batch; ++n) std::fill_n(of_reset.row(n), H, T(0));
    math.add_product(g.batch, H, H, read_only(d.scratch), recurrence, of_reset);
  }
  math.for_each_sample(g, [&](std::int64_t n) { reset_gradient(g, step, d, d.dgates.row(n) + H, n); });
  math.add_product(g.batch, H, 2 * H, read_only(d.dgates), matrix(p.recurrence, 2 * H, H), d.dh);
  if (step.h_before && d.drecurrence != nullptr) {
    math.add_outer(g.batch, 2 * H, H, read_only(d.dgates), step.h_before, d.drecurrence);
  }
}

MANGROVE_INSTANTIATE_CELL(GruCell);

}  // namespace mangrove::portable

#include "mangrove/engine/portable/recurrent_cell.h"

namespace mangrove::portable {

template <class T>
void RnnCell::forward(const RecurrentGeometry& g, const CellParameters<T>& p, const CellStep<T>& step) {
  const std::int64_t H = g.hidden;
  if (step.h_before) {
    add_product(g.batch, H, H, step.h_before, matrix(p.recurrence, H, H).transposed(), step.gates);
  }
  for (std::int64_t n = 0; n < g.batch; ++n) {
    T *a = step.gates.row(n), *h = step.h.row(n);
    for (std::int64_t j = 0; j < H; ++j) h[j] = a[j] = p.relu ? std::max(a[j], T(0)) : std::tanh(a[j]);
  }
}

template <class T>
void RnnCell::backward(const RecurrentGeometry& g, const CellParameters<T>& p, const CellStep<T>& step,
                       const CellGradients<T>& d) {
  const std::int64_t H = g.hidden;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    const T* h = step.gates.row(n);
    T *dh = d.dh.row(n), *da = d.dgates.row(n);
    for (std::int64_t j = 0; j < H; ++j) {
      da[j] = p.relu ? (h[j] > 0 ? dh[j] : T(0)) : dh[j] * (1 - h[j] * h[j]);
      dh[j] = 0;
    }
  }
  add_product(g.batch, H, H, read_only(d.dgates), matrix(p.recurrence, H, H), d.dh);
  if (step.h_before && d.drecurrence != nullptr) {
    add_outer(g.batch, H, H, read_only(d.dgates), step.h_before, d.drecurrence);
  }
}

MANGROVE_INSTANTIATE_CELL(RnnCell);

}  // namespace mangrove::portable

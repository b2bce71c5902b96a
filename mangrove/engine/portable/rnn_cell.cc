#include "mangrove/engine/portable/recurrent_cell.h"

namespace mangrove::portable {

template <class T>
void RnnCell::forward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                      const CellStep<T>& step) {
  const std::int64_t H = g.hidden;
  if (step.h_before) {
    math.add_product(g.batch, H, H, step.h_before, matrix(p.recurrence, H, H).transposed(), step.gates);
  }
  math.for_each_sample(g, [&](std::int64_t n) {
    T* a = step.gates.row(n);
    if (p.relu) {
      for (std::int64_t j = 0; j < H; ++j) a[j] = std::max(a[j], T(0));
    } else {
      math.tanh(H, a, a);
    }
    std::copy_n(a, H, step.h.row(n));
  });
}

template <class T>
void RnnCell::backward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                       const CellStep<T>& step, const CellGradients<T>& d) {
  const std::int64_t H = g.hidden;
  math.for_each_sample(g, [&](std::int64_t n) {
    const T* h = step.gates.row(n);
    T *dh = d.dh.row(n), *da = d.dgates.row(n);
    for (std::int64_t j = 0; j < H; ++j) {
      da[j] = p.relu ? (h[j] > 0 ? dh[j] : T(0)) : dh[j] * (1 - h[j] * h[j]);
      dh[j] = 0;
    }
  });
  math.add_product(g.batch, H, H, read_only(d.dgates), matrix(p.recurrence, H, H), d.dh);
  if (step.h_before && d.drecurrence != nullptr) {
    math.add_outer(g.batch, H, H, read_only(d.dgates), step.h_before, d.drecurrence);
  }
}

MANGROVE_INSTANTIATE_CELL(RnnCell);

}  // namespace mangrove::portable

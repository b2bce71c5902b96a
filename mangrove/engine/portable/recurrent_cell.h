#pragma once

#include <cmath>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/products.h"
#include "mangrove/graph/recurrent_geometry.h"

/// What one step in time computes, forward and backward, for all samples of a batch.
namespace mangrove::portable {

/// A row per sample, evenly spaced; data is null where there is none.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  T* row(std::int64_t n) const { return data + n * stride; }
  explicit operator bool() const { return data != nullptr; }
};

template <class T>
Rows<const T> read_only(Rows<T> rows) {
  return {rows.data, rows.stride};
}

/// What cells compute with. A backend may have faster functions than these of the portable one.
template <class T>
struct CellMath {
  Product<T> multiply = blocked_product<T>;
  void (*sigmoid)(std::int64_t n, const T* x, T* y) = [](std::int64_t n, const T* x, T* y) {  // y may be x
    for (std::int64_t i = 0; i < n; ++i) y[i] = T(1) / (T(1) + std::exp(-x[i]));
  };
  void (*tanh)(std::int64_t n, const T* x, T* y) = [](std::int64_t n, const T* x, T* y) {  // likewise
    for (std::int64_t i = 0; i < n; ++i) y[i] = std::tanh(x[i]);
  };
  int threads = 1;  // which share the samples of a batch

  /// rows(y) += rows(x) w for w [inner, width].
  void add_product(std::int64_t batch, std::int64_t width, std::int64_t inner, Rows<const T> x, Matrix<T> w,
                   Rows<T> y) const {
    multiply(batch, width, inner, T(1), Matrix<T>{x.data, x.stride, 1}, w, y.data, y.stride);
  }
  /// w [rows, columns] += the transpose of rows(dy) times rows(x): the gradient of w in y = w x.
  void add_outer(std::int64_t batch, std::int64_t rows, std::int64_t columns, Rows<const T> dy, Rows<const T> x,
                 T* w) const {
    multiply(rows, columns, batch, T(1), Matrix<T>{dy.data, 1, dy.stride}, Matrix<T>{x.data, x.stride, 1}, w, columns);
  }
  /// Calls work(n) for each sample n of the batch.
  template <class Work>
  void for_each_sample(const RecurrentGeometry& g, const Work& work) const {
    in_parallel(g.batch, threads_for(g.batch * g.hidden, threads), work);
  }
};

/// One direction's parameters; bias and peepholes may be null.
template <class T>
struct CellParameters {
  const T* recurrence;  // [gates H, H]
  const T* bias;        // [2, gates H]: of the input, of the recurrence
  const T* peepholes;   // [3, H]: i, o, f
  bool relu;            // RNN
};

/// One step: what is before it, and what it makes. `gates` comes with W x_t + input bias (and, where the cell adds no
/// recurrent bias itself, that too), and leaves with the activated gates.
template <class T>
struct CellStep {
  Rows<const T> h_before, c_before;  // none: zeros
  Rows<T> gates;                     // [gates H]
  Rows<T> extra;                     // [H]: LSTM c_t; GRU R h + b before the reset, or r h_(t-1)
  Rows<T> h;
};

/// The gradients that pass through one step.
template <class T>
struct CellGradients {
  Rows<T> dh;          // in: of h_t; out: of h_(t-1)
  Rows<T> dc;          // LSTM. in: of c_t from later; out: of c_(t-1)
  Rows<T> dgates;      // out: before the activations, [gates H]
  Rows<T> scratch;     // [H], for the cell's own use
  T* drecurrence;      // added to; null where nobody wants it
  T* drecurrent_bias;  // GRU's, where it differs from the input's: added to; may be null
  T* dpeepholes;       // added to; may be null
};

/// Forward: the step's gates, extra and h. Backward: see CellGradients.
struct LstmCell {
  template <class T>
  static void forward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                      const CellStep<T>& step);
  template <class T>
  static void backward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                       const CellStep<T>& step, const CellGradients<T>& d);
};

struct GruCell {
  template <class T>
  static void forward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                      const CellStep<T>& step);
  template <class T>
  static void backward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                       const CellStep<T>& step, const CellGradients<T>& d);
};

struct RnnCell {
  template <class T>
  static void forward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                      const CellStep<T>& step);
  template <class T>
  static void backward(const RecurrentGeometry& g, const CellMath<T>& math, const CellParameters<T>& p,
                       const CellStep<T>& step, const CellGradients<T>& d);
};

}  // namespace mangrove::portable

/// At the end of each cell's file: its functions for float and double.
#define MANGROVE_INSTANTIATE_CELL_FOR(Cell, T)                                                         \
  template void Cell::forward(const RecurrentGeometry&, const CellMath<T>&, const CellParameters<T>&,  \
                              const CellStep<T>&);                                                     \
  template void Cell::backward(const RecurrentGeometry&, const CellMath<T>&, const CellParameters<T>&, \
                               const CellStep<T>&, const CellGradients<T>&)
#define MANGROVE_INSTANTIATE_CELL(Cell)       \
  MANGROVE_INSTANTIATE_CELL_FOR(Cell, float); \
  MANGROVE_INSTANTIATE_CELL_FOR(Cell, double)

#pragma once

#include <array>
#include <cstdint>

/// Inner loops over contiguous (or evenly spaced) elements, written so that the compiler vectorises the contiguous case
/// and the order of summation is fixed.
namespace mangrove::portable {

/// y[i] += a x[i x_stride], i < n
template <class T>
void axpy(std::int64_t n, T a, const T* x, std::int64_t x_stride, T* y) {
  if (x_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i * x_stride];
  }
}

/// y[i y_stride] += a x[i], i < n
template <class T>
void axpy_to(std::int64_t n, T a, const T* x, T* y, std::int64_t y_stride) {
  if (y_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * y_stride] += a * x[i];
  }
}

/// Sum over i < n of x[i x_stride] y[i]: in eight partial sums, which fit vector registers and lose less to rounding.
template <class T>
T dot(std::int64_t n, const T* x, std::int64_t x_stride, const T* y) {
  constexpr std::int64_t kLanes = 8;
  std::array<T, kLanes> lanes{};
  std::int64_t i = 0;
  if (x_stride == 1) {
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[static_cast<std::size_t>(lane)] += x[i + lane] * y[i + lane];
      }
    }
  }
  T total = 0;
  for (const T lane : lanes) total += lane;
  for (; i < n; ++i) total += x[i * x_stride] * y[i];
  return total;
}

/// Sum over i < n of term(i), in the order of dot.
template <class T, class Term>
T sum_of(std::int64_t n, Term term) {
  constexpr std::int64_t kLanes = 8;
  std::array<T, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[static_cast<std::size_t>(lane)] += term(i + lane);
  }
  T total = 0;
  for (const T lane : lanes) total += lane;
  for (; i < n; ++i) total += term(i);
  return total;
}

template <class T>
T sum(std::int64_t n, const T* x) {
  return sum_of<T>(n, [x](std::int64_t i) { return x[i]; });
}

/// Sum of (x[i] - mean)^2.
template <class T>
T squared_deviations(std::int64_t n, const T* x, T mean) {
  return sum_of<T>(n, [x, mean](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
}

/// Sum of (x[i] - mean) y[i].
template <class T>
T centred_dot(std::int64_t n, const T* x, T mean, const T* y) {
  return sum_of<T>(n, [=](std::int64_t i) { return (x[i] - mean) * y[i]; });
}

}  // namespace mangrove::portable

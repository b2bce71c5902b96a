#include "mangrove/learn/image_quality.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mangrove/base/check.h"

namespace mangrove::learn {
namespace {

constexpr std::int64_t kWindow = 11;
constexpr double kDeviation = 1.5;
constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;  // (K L)^2 with a range L of 1
constexpr double kMostDecibels = 100;

/// Of a window of so many pixels along one axis; the sum is 1.
std::vector<double> gaussian(std::int64_t size) {
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double distance = static_cast<double>(i) - static_cast<double>(size - 1) / 2;
    weights.push_back(std::exp(-distance * distance / (2 * kDeviation * kDeviation)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Weighted means in one window, from which means, variances and the covariance follow.
struct Moments {
  double a = 0, b = 0, aa = 0, bb = 0, ab = 0;

  void add(double weight, double x, double y) {
    a += weight * x;
    b += weight * y;
    aa += weight * x * x;
    bb += weight * y * y;
    ab += weight * x * y;
  }
  double similarity() const {
    const double means = (2 * a * b + kC1) / (a * a + b * b + kC1);
    const double spreads = (2 * (ab - a * b) + kC2) / (aa - a * a + bb - b * b + kC2);
    return means * spreads;
  }
};

double ssim_of_plane(std::span<const float> a, std::span<const float> b, std::int64_t height, std::int64_t width) {
  const std::vector<double> rows = gaussian(std::min(kWindow, height)), columns = gaussian(std::min(kWindow, width));
  const std::int64_t last_y = height - std::ssize(rows), last_x = width - std::ssize(columns);
  double sum = 0;
  for (std::int64_t y = 0; y <= last_y; ++y) {
    for (std::int64_t x = 0; x <= last_x; ++x) {
      Moments moments;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto at = static_cast<std::size_t>((y + static_cast<std::int64_t>(i)) * width + x);
        for (std::size_t j = 0; j < columns.size(); ++j) moments.add(rows[i] * columns[j], a[at + j], b[at + j]);
      }
      sum += moments.similarity();
    }
  }
  return sum / static_cast<double>((last_y + 1) * (last_x + 1));
}

}  // namespace

double ssim(std::span<const float> a, std::span<const float> b, const Shape& shape) {
  MG_CHECK(shape.rank() == 3 && shape.elements() > 0);
  MG_CHECK(std::ssize(a) == shape.elements() && std::ssize(b) == shape.elements());
  const auto plane = static_cast<std::size_t>(shape[1] * shape[2]);
  double sum = 0;
  for (std::size_t first = 0; first < a.size(); first += plane)
    sum += ssim_of_plane(a.subspan(first, plane), b.subspan(first, plane), shape[1], shape[2]);
  return sum / static_cast<double>(shape[0]);
}

double psnr(std::span<const float> a, std::span<const float> b) {
  MG_CHECK(a.size() == b.size() && !a.empty());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    squares += difference * difference;
  }
  const double error = squares / static_cast<double>(a.size());
  return error > 0 ? std::min(kMostDecibels, -10 * std::log10(error)) : kMostDecibels;
}

}  // namespace mangrove::learn

#include "mangrove/compress/range_method.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mangrove/base/table.h"

namespace mangrove::compress {
namespace {

double largest(const Histogram& histogram, int) {
  return histogram.largest();
}

constexpr double kKeptShare = 0.9999;

/// The end of the first bin by which this share of the elements is counted.
double percentile(const Histogram& histogram, int) {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(kKeptShare * static_cast<double>(histogram.total())));
  std::uint64_t seen = 0;
  std::size_t bin = 0;
  while (seen < wanted) seen += histogram.counts()[bin++];
  return std::min(static_cast<double>(bin) * histogram.width(), histogram.largest());
}

/// Kullback-Leibler divergence of counts, cut off after `kept` bins (what is beyond goes to the last one), from the
/// same counts in `levels` equal levels, each spread evenly over those of its bins that are not empty. Infinite where
/// the last bin is empty but for what went to it.
double divergence(std::span<const double> counts, std::size_t kept, std::size_t levels) {
  double beyond = 0, total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) (i < kept ? total : beyond) += counts[i];
  if (total == 0 || (beyond > 0 && counts[kept - 1] == 0)) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(level * kept / levels);
    const auto last = counts.begin() + static_cast<std::ptrdiff_t>((level + 1) * kept / levels);
    double in_level = 0, filled = 0;
    for (auto count = first; count != last; ++count) {
      in_level += *count;
      filled += *count > 0 ? 1 : 0;
    }
    const double q = in_level / filled / total;
    for (auto count = first; count != last; ++count) {
      if (*count == 0) continue;
      const bool is_last = level + 1 == levels && count + 1 == last;
      const double p = (*count + (is_last ? beyond : 0)) / (total + beyond);
      sum += p * std::log(p / q);
    }
  }
  return sum;
}

/// The cut with the least loss of information. Migacz, 8-bit inference with TensorRT, GTC 2017.
double entropy(const Histogram& histogram, int steps) {
  constexpr std::size_t kStride = 16;  // bins from one candidate to the next
  if (histogram.width() == 0) return 0;
  std::vector<double> counts(histogram.counts().begin(), histogram.counts().end());
  while (counts.back() == 0) counts.pop_back();
  // the zeros of a rectifier are exact in any range: they must not drown the rest
  counts[0] = std::min(counts[0], counts[1]);
  const auto levels = static_cast<std::size_t>(steps) + 1;
  std::size_t best = counts.size();
  double least = divergence(counts, best, levels);
  for (std::size_t kept = levels; kept < counts.size(); kept += kStride) {
    const double loss = divergence(counts, kept, levels);
    if (loss < least) {
      least = loss;
      best = kept;
    }
  }
  return std::min(static_cast<double>(best) * histogram.width(), histogram.largest());
}

constexpr RangeMethod kMethods[] = {
    {"minmax", "all that was seen fits", largest},
    {"percentile", "99.99 % of what was seen fits, the rest is clipped", percentile},
    {"entropy", "clips where the distribution loses the least information (Migacz, 2017)", entropy},
};

}  // namespace

std::span<const RangeMethod> range_methods() {
  return kMethods;
}

std::vector<std::string> range_method_names() {
  return row_names(kMethods);
}

Result<const RangeMethod*> find_range_method(std::string_view name) {
  return find_row(kMethods, name, "no range method is called", Code::invalid_argument);
}

}  // namespace mangrove::compress

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "mangrove/base/random.h"
#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

/// The magnitudes of the finite values that lambda leaves below 1, added up, and how many it does not.
struct Split {
  double below = 0;
  std::size_t certain = 0;
};

Split split_at(std::span<const float> values, double lambda) {
  constexpr std::size_t kLanes = 8;  // sums side by side: one would wait for each addition
  std::array<double, kLanes> below{};
  std::array<std::uint64_t, kLanes> certain{};
  const auto add = [&](std::size_t lane, float value) {
    const double magnitude = std::abs(static_cast<double>(value));
    const bool is_certain = !(lambda * magnitude < 1);
    below[lane] += is_certain ? 0 : magnitude;
    certain[lane] += is_certain ? 1 : 0;
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) add(0, values[i]);
  return {std::accumulate(below.begin(), below.end(), 0.0),
          std::accumulate(certain.begin(), certain.end(), std::uint64_t{0})};
}

/// The lambda of the probabilities min(lambda |g|, 1) whose sum is `kept`. Among all probabilities that keep this
/// number of elements on average, these have the least variance. (Wangni's algorithm 3: the excess of a probability
/// above 1 is shared among the others, until none is above 1.) NaN and infinity are always kept.
double optimal_lambda(std::span<const float> values, double kept) {
  for (double lambda = 0;;) {
    const Split split = split_at(values, lambda);
    if (split.below == 0) return lambda;
    const double next = (kept - static_cast<double>(split.certain)) / split.below;
    if (next <= lambda) return lambda;
    lambda = next;
  }
}

float to_float(double value) {
  return static_cast<float>(std::min<double>(value, std::numeric_limits<float>::max()));
}

/// A message has the elements that are kept always; then 1/lambda, which with its sign is the value of each other one
/// that is kept (g divided by its probability), their count, and for each twice the gap before it plus one if it is
/// negative.
class Variance : public Codec {
 public:
  Variance(double density, std::uint64_t seed) : density_(density), random_(seed) {}

  std::string encode(std::span<const float> values) override {
    const double lambda = optimal_lambda(values, density_ * static_cast<double>(values.size()));
    std::vector<std::uint32_t> certain, drawn;
    const auto scale = to_float(lambda * 0x1p32);  // of probabilities that are compared with 32 random bits
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      bits = i % 2 == 0 ? random_.next() : bits >> 32;
      const float probability = scale * std::abs(values[i]);
      if (!(probability < 0x1p32f)) {
        certain.push_back(static_cast<std::uint32_t>(i));
      } else if (static_cast<float>(static_cast<std::uint32_t>(bits)) < probability) {
        drawn.push_back(static_cast<std::uint32_t>(i));
      }
    }
    std::string message;
    append_elements(message, certain, values);
    append_drawn(message, drawn, values, lambda);
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    std::fill(values.begin(), values.end(), 0.0f);
    MG_RETURN_IF_ERROR(take_elements(message, values));
    float magnitude = 0;
    if (message.size() < sizeof magnitude) return bad_message("it ends before its drawn elements");
    std::memcpy(&magnitude, message.data(), sizeof magnitude);
    message.remove_prefix(sizeof magnitude);
    const std::optional<std::uint64_t> count = take_number(message);
    if (!count || *count > values.size()) return bad_message("no count, or one above its elements");
    std::size_t next = 0;
    for (std::size_t i = 0; i < *count; ++i) {
      const std::optional<std::uint64_t> number = take_number(message);
      const std::optional<std::size_t> index = skip(next, number ? std::optional(*number >> 1) : number, values.size());
      if (!index) return bad_message("an index is missing or beyond the end");
      values[*index] = (*number & 1) != 0 ? -magnitude : magnitude;
      next = *index + 1;
    }
    return check_end(message);
  }

  void set_fraction(double fraction) override { density_ = fraction; }

 private:
  static void append_drawn(std::string& message, std::span<const std::uint32_t> drawn, std::span<const float> values,
                           double lambda) {
    const float magnitude = lambda > 0 ? to_float(1 / lambda) : 0;
    message.append(reinterpret_cast<const char*>(&magnitude), sizeof magnitude);
    append_number(message, drawn.size());
    std::uint32_t next = 0;
    for (const std::uint32_t index : drawn) {
      append_number(message, std::uint64_t{index - next} << 1 | (std::signbit(values[index]) ? 1 : 0));
      next = index + 1;
    }
  }

  double density_;
  Random random_;
};

}  // namespace

CodecRow rows::variance() {
  return {.name = "variance",
          .summary =
              "elements drawn with the probabilities of least variance (Wangni et al., Gradient sparsification, 2018)",
          .parameters = {{.name = "density", .fallback = 0.05, .least = 1e-6, .most = 1}},
          .is_unbiased = true,
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<Variance>(arguments[0], stream.seed);
          }};
}

}  // namespace mangrove::codec

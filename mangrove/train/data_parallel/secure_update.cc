#include "mangrove/train/data_parallel/secure_update.h"

#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/net/payload.h"
#include "mangrove/secure_aggregation/fixed_point.h"

namespace mangrove::train {
namespace {

// What is beyond is training that has gone wrong, mostly.
constexpr double kMostChange = 16;
constexpr double kMostWide = 1 << 20;

}  // namespace

std::vector<std::uint32_t> SecureUpdate::encode(std::span<const float> values, const learn::BatchStats& stats,
                                                const SumWeights& weights) const {
  MG_CHECK(values.size() == parameters_ + states_);
  std::vector<std::uint32_t> words(this->words());
  secure::encode(values.first(parameters_), kMostChange, weights.share() * weights.discount(),
                 std::span(words).first(parameters_));
  std::span<std::uint32_t> rest = std::span(words).subspan(parameters_);
  const auto add = [&](double value) {
    secure::encode_wide(value, kMostWide, weights.share(), rest.first<2>());
    rest = rest.subspan(2);
  };
  const auto count = static_cast<double>(stats.count);
  for (const float state : values.subspan(parameters_)) add(state);
  add(stats.loss / count);
  add(static_cast<double>(stats.correct) / count);
  for (std::size_t exit = 0; exit < exits_; ++exit)
    add(exit < stats.early_correct.size() ? static_cast<double>(stats.early_correct[exit]) / count : 0);
  return words;
}

SecureUpdate::Total SecureUpdate::decode(std::span<const std::uint32_t> words, std::int64_t asked,
                                         std::int64_t samples) const {
  MG_CHECK(words.size() == this->words());
  const auto all = static_cast<double>(asked);
  std::vector<float> values;
  values.reserve(parameters_ + states_);
  for (const std::uint32_t word : words.first(parameters_))
    values.push_back(static_cast<float>(secure::decode(word, kMostChange) * all));
  std::span<const std::uint32_t> rest = words.subspan(parameters_);
  const auto next = [&] {
    const double sum = secure::decode_wide(rest.first<2>(), kMostWide) * all;
    rest = rest.subspan(2);
    return sum;
  };
  for (std::size_t state = 0; state < states_; ++state)
    values.push_back(static_cast<float>(next() / static_cast<double>(samples)));
  Total total;
  total.stats.count = samples;
  total.stats.loss = next();
  total.stats.correct = std::llround(next());
  for (std::size_t exit = 0; exit < exits_; ++exit) total.stats.early_correct.push_back(std::llround(next()));
  total.body.reserve(values.size() * sizeof(float));
  net::append_floats(total.body, values);
  return total;
}

}  // namespace mangrove::train

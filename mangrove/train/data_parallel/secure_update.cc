#include "mangrove/train/data_parallel/secure_update.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/codec/random_places.h"
#include "mangrove/codec/sparse.h"
#include "mangrove/net/payload.h"
#include "mangrove/secure_aggregation/fixed_point.h"

namespace mangrove::train {
namespace {

// What is beyond is training that has gone wrong, mostly.
constexpr float kMostChange = 16;
constexpr double kMostWide = 1 << 20;
constexpr std::uint64_t kMask = 0x3a5c;  // stream of random numbers

}  // namespace

SecureUpdate::SecureUpdate(std::size_t parameters, std::size_t states, std::size_t exits, const SharedMask& mask)
    : parameters_(parameters),
      states_(states),
      exits_(exits),
      sent_(codec::elements_of(mask.fraction, parameters)),
      seed_(mask.seed) {}

std::vector<std::size_t> SecureUpdate::mask(std::int64_t step) const {
  MG_CHECK(has_rest());
  std::vector<std::size_t> places(sent_);
  Random random = Random(seed_).fork(kMask).fork(static_cast<std::uint64_t>(step));
  std::size_t next = 0;
  codec::for_each_of(codec::random_set(random, sent_, parameters_), [&](std::size_t place) { places[next++] = place; });
  return places;
}

SecureUpdate::Encoded SecureUpdate::encode(std::span<const float> values, const learn::BatchStats& stats,
                                           const SumWeights& weights, std::int64_t step) const {
  MG_CHECK(values.size() == parameters_ + states_);
  Encoded encoded{std::vector<std::uint32_t>(words()), {}};
  std::span<const float> change = values.first(parameters_);
  std::vector<float> sent;
  if (has_rest()) {
    encoded.rest.assign(change.begin(), change.end());
    sent.reserve(sent_);
    for (const std::size_t place : mask(step)) {
      sent.push_back(std::clamp(change[place], -kMostChange, kMostChange));
      encoded.rest[place] -= sent.back();
    }
    change = sent;
  }
  secure::encode(change, kMostChange, weights.share() * weights.discount(), std::span(encoded.words).first(sent_));
  std::span<std::uint32_t> rest = std::span(encoded.words).subspan(sent_);
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
  return encoded;
}

SecureUpdate::Total SecureUpdate::decode(std::span<const std::uint32_t> words, std::int64_t asked, std::int64_t samples,
                                         std::int64_t step) const {
  MG_CHECK(words.size() == this->words());
  const auto all = static_cast<double>(asked);
  std::vector<float> values(parameters_, 0.0f);
  values.reserve(parameters_ + states_);
  const std::vector<std::size_t> places = has_rest() ? mask(step) : std::vector<std::size_t>();
  for (std::size_t i = 0; i < sent_; ++i)
    values[has_rest() ? places[i] : i] = static_cast<float>(secure::decode(words[i], kMostChange) * all);
  std::span<const std::uint32_t> rest = words.subspan(sent_);
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

#include <algorithm>
#include <optional>

#include "mangrove/base/random.h"
#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/largest.h"
#include "mangrove/codec/momentum_correction.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

constexpr float kMostWeight = 16;  // the least likely coordinate still has its turn: what it waits for stays of use

/// A random part of the coordinates, each with a chance by its hidden weight, in the messages of top_k. The weights of
/// those sent last grow by one if the loss has fallen since, and shrink if it has risen, from 1 to 16.
/// source: of the draw: Duffield, Lund & Thorup, Priority sampling for estimation of arbitrary subset sums, 2007.
class LossGuided : public Codec {
 public:
  LossGuided(double fraction, const Stream& stream)
      : fraction_(fraction), random_(stream.seed), weights_(static_cast<std::size_t>(stream.elements()), 1.0f) {}

  std::string encode(std::span<const float> values) override {
    std::vector<float> priorities(values.size());
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      bits = i % 2 == 0 ? random_.next() : bits >> 32;
      const float uniform = (static_cast<float>(static_cast<std::uint32_t>(bits)) + 1) * 0x1p-32f;
      priorities[i] = values[i] == 0 ? 0 : weights_[i] / uniform;  // 0: never among the largest
    }
    sent_ = largest(priorities, elements_of(fraction_, values.size()));
    std::string message;
    append_elements(message, sent_, values);
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override { return decode_elements(message, values); }
  void set_fraction(double fraction) override { fraction_ = fraction; }

  void told_loss(double loss) override {
    const float change = !loss_ || loss == *loss_ ? 0.0f : loss < *loss_ ? 1.0f : -1.0f;
    for (const std::uint32_t index : sent_) weights_[index] = std::clamp(weights_[index] + change, 1.0f, kMostWeight);
    loss_ = loss;
  }

 private:
  double fraction_;
  Random random_;
  std::vector<float> weights_;
  std::vector<std::uint32_t> sent_;  // in the last message
  std::optional<double> loss_;       // before it
};

}  // namespace

CodecRow rows::esgd() {
  return {.name = "esgd",
          .summary = "velocities at random places, likelier where sending lowered the loss (Tao & Li, eSGD, 2018)",
          .parameters = {{.name = "fraction", .fallback = 0.125, .least = 1e-6, .most = 1},
                         {.name = "momentum", .fallback = 0.9, .least = 0, .most = 0.9999}},
          .keeps_residual = true,
          .has_momentum = true,
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            const MomentumOptions options{.momentum = static_cast<float>(arguments[1]), .clip_norm = 0};
            return std::make_unique<MomentumCorrection>(std::make_unique<LossGuided>(arguments[0], stream), options,
                                                        static_cast<std::size_t>(stream.elements()));
          }};
}

}  // namespace mangrove::codec

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/random_places.h"

namespace mangrove::codec {

CodecRow rows::random_k() {
  return {
      .name = "random_k",
      .summary = "random elements in places that both sides draw, times n/k (Konečný et al., Federated learning, 2016)",
      .parameters = {{.name = "fraction", .fallback = 0.01, .least = 1e-6, .most = 1}},
      .is_unbiased = true,
      .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
        return std::make_unique<RandomPlaces>(arguments[0], true, stream);
      }};
}

}  // namespace mangrove::codec

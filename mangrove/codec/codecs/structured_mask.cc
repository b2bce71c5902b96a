#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/random_places.h"

namespace mangrove::codec {

/// The paper learns an update that is zero outside the mask; of one that is learnt without, this is what lies within,
/// and error feedback keeps the rest for other masks.
CodecRow rows::structured_mask() {
  return {.name = "structured_mask",
          .summary =
              "a structured update: elements of a random mask that both sides draw, as they are (Konečný et al., "
              "Federated learning, 2016)",
          .parameters = {{.name = "fraction", .fallback = 0.0625, .least = 1e-6, .most = 1}},
          .is_sparse = true,
          .can_share_mask = true,
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<RandomPlaces>(arguments[0], false, stream);
          }};
}

}  // namespace mangrove::codec

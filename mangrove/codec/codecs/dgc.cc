#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/momentum_correction.h"
#include "mangrove/codec/warm_up.h"

namespace mangrove::codec {
namespace {

/// arguments: those of the row's parameters.
std::unique_ptr<Codec> make_dgc(std::span<const double> arguments, const Stream& stream) {
  const double fraction = arguments[0];
  auto warm_up = std::make_unique<WarmUp>(rows::top_k().make(arguments.first(1), stream), fraction,
                                          static_cast<std::int64_t>(arguments[3]));
  const MomentumOptions options{.momentum = static_cast<float>(arguments[1]),
                                .clip_norm = static_cast<float>(arguments[2])};
  return std::make_unique<MomentumCorrection>(std::move(warm_up), options, static_cast<std::size_t>(stream.elements()));
}

}  // namespace

CodecRow rows::dgc() {
  return {
      .name = "dgc",
      .summary = "top_k of velocities, for an optimizer without momentum (Lin et al., Deep gradient compression, 2018)",
      .parameters = {{.name = "fraction", .fallback = 0.001, .least = 1e-6, .most = 1},
                     {.name = "momentum", .fallback = 0.9, .least = 0, .most = 0.9999},
                     {.name = "clip_norm", .fallback = 0, .least = 0, .most = 1e6},
                     {.name = "warm_up", .fallback = 400, .least = 0, .most = 1e9, .is_whole = true}},
      .keeps_residual = true,
      .has_momentum = true,
      .make = &make_dgc};
}

}  // namespace mangrove::codec

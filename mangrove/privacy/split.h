#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/random.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/split.h"

namespace mangrove::privacy {

/// What a device that is not trusted gets in place of samples: what a layer makes of them, perhaps less than that.
struct PrivacySetting {
  std::string layer;  // the last one that is computed on a trusted device: a node of the network
  std::int64_t levels =
      0;                  // each value becomes one of so many, from the least to the largest of its sample; 0: as it is
  double noise = 0;       // scale of the Laplace noise that is added before, in standard deviations of the sample's
                          // values; 0: none
  std::string trained{};  // a file of trained noise (trained_noise.h), of which a tensor is added before too; "": none
};

/// "split@LAYER", and behind it, in any order, ",levels=K" (2 to 256), ",noise=SCALE" and ",trained=FILE".
/// errors: invalid_argument (says what was expected).
Result<PrivacySetting> parse_privacy(std::string_view text);
/// The same text.
std::string to_text(const PrivacySetting& privacy);

/// The network as a trusted device computes it, up to this layer, and as one that is not trusted does.
/// errors: those of split_behind; invalid_argument: the bottom model has no convolution or dense layer, so that it
/// would hand out the samples in another shape.
Result<GraphHalves> split_for_privacy(const Graph& graph, const std::string& layer);

// What is sent of one sample, of so many values: f32, or with levels the least value and the distance of two levels,
// as f32, and after these the numbers of the levels, each in as few bits as do.

Bytes sent_bytes(const PrivacySetting& privacy, std::int64_t values);
/// random: of the noise. trained: with Privacy::trained tensors like the values, one after the other, of which one is
/// taken; else empty.
void append_sent(std::string& payload, const PrivacySetting& privacy, std::span<const float> values, Random random,
                 std::span<const float> trained = {});
/// errors: data_loss (bytes that append_sent does not make of so many values).
Status read_sent(std::string_view bytes, const PrivacySetting& privacy, std::span<float> values);

/// A draw from Laplace(0, width), by the inverse of its distribution function.
double laplace(Random& random, double width);

}  // namespace mangrove::privacy

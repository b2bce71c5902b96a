#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mangrove/data/loader.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"

namespace mangrove::privacy {

struct DecoderOptions {
  std::int64_t batch = 32;
  std::int64_t steps = 400;  // of the training; its rate falls to 0 until then
  std::string backend{};     // "" takes the fastest
  int threads = 1;
  std::uint64_t seed = 1;  // of its weights
};

/// A small convolutional network that learns to reconstruct images from values that a network makes of them: what
/// whoever gets these values can do, who has images of the same kind. Values of pixels [C, H, W] go through a
/// convolution, are resized to the image, and go through three more; of others a dense layer first makes pixels.
/// threads: one at a time.
class Decoder {
 public:
  /// values, image: shapes of one sample. errors: unimplemented (values that are neither [C, H, W] nor [features]);
  /// invalid_argument (an image that is not [C, H, W]); those of Replica::create.
  static Result<std::unique_ptr<Decoder>> create(const Shape& values, const Shape& image,
                                                 const DecoderOptions& options);

  /// One step towards these images [count, C, H, W] of 0 to 1, of which the values are. Returns the mean squared error
  /// before it.
  double train(std::int64_t count, std::span<const float> values, std::span<const float> images);
  /// The images [count, C, H, W] that it makes of values; valid until the next call. count: at most options.batch.
  std::span<const float> reconstruct(std::int64_t count, std::span<const float> values);

 private:
  Decoder(const DecoderOptions& options, std::unique_ptr<learn::Replica> replica, learn::Optimizer optimizer);
  void fill(std::int64_t count, std::span<const float> values);

  const DecoderOptions options_;
  std::unique_ptr<learn::Replica> replica_;
  learn::Optimizer optimizer_;
  data::Batch batch_;
  float mean_ = 0, scale_ = 0;  // of the values, as the first batch has them; 0: there was none
  std::int64_t steps_ = 0;
};

}  // namespace mangrove::privacy

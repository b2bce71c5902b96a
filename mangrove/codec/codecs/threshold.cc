#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/largest.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

/// Strom sends the threshold with a sign, and leaves the rest of a larger value for later; here a value goes whole.
class Threshold : public Codec {
 public:
  explicit Threshold(float value) : value_(value) {}

  std::string encode(std::span<const float> values) override {
    std::string message;
    append_elements(message, reaching(values, magnitude_bits(value_) + 1), values);
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override { return decode_elements(message, values); }

 private:
  const float value_;
};

}  // namespace

CodecRow rows::threshold() {
  return {.name = "threshold",
          .summary = "magnitudes above a value, with their places (Strom, Scalable distributed DNN training, 2015)",
          .parameters = {{.name = "value", .fallback = 0.01, .least = 0, .most = 1e6}},
          .is_sparse = true,
          .is_contraction = true,
          .make = [](std::span<const double> arguments, const Stream&) -> std::unique_ptr<Codec> {
            return std::make_unique<Threshold>(static_cast<float>(arguments[0]));
          }};
}

}  // namespace mangrove::codec

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/largest.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

class TopK : public Codec {
 public:
  explicit TopK(double fraction) : fraction_(fraction) {}

  std::string encode(std::span<const float> values) override {
    std::string message;
    append_elements(message, largest(values, elements_of(fraction_, values.size())), values);
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override { return decode_elements(message, values); }
  void set_fraction(double fraction) override { fraction_ = fraction; }

 private:
  double fraction_;
};

}  // namespace

CodecRow rows::top_k() {
  return {.name = "top_k",
          .summary = "the largest magnitudes, with their places (Aji & Heafield, Sparse communication, 2017)",
          .parameters = {{.name = "fraction", .fallback = 0.01, .least = 1e-6, .most = 1}},
          .is_sparse = true,
          .is_contraction = true,
          .make = [](std::span<const double> arguments, const Stream&) -> std::unique_ptr<Codec> {
            return std::make_unique<TopK>(arguments[0]);
          }};
}

}  // namespace mangrove::codec

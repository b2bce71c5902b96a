#include "mangrove/compress/methods/rows.h"

namespace mangrove::compress::rows {
namespace {

class Train : public Method {
 public:
  Keys keys() override {
    Keys keys;
    tuning_.declare(keys);
    return keys;
  }

  Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const override {
    return fine_tune(std::move(network), tuning_, workplace, static_cast<std::uint64_t>(round));
  }

 private:
  FineTuning tuning_;
};

}  // namespace

MethodRow train() {
  return {.name = "train",
          .summary = "trains on, and keeps what steps before it have pruned and shared",
          .gain = "train makes a network more accurate, and neither smaller nor faster",
          .make = [] { return std::unique_ptr<Method>(std::make_unique<Train>()); }};
}

}  // namespace mangrove::compress::rows

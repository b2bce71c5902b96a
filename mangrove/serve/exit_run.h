#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/serve/model.h"
#include "mangrove/serve/pending_request.h"
#include "mangrove/serve/stepped_network.h"

namespace mangrove::serve {

/// One sample on its way through the exits of a network. threads: one at a time.
class SteppedRun final : public ExitRun {
 public:
  /// Told once how long the sample waited and was computed, without what its client took: when the sample has left, or
  /// an exit could not be computed.
  using WhenOver = std::function<void(const RequestTimes& times, bool has_left)>;

  /// values: the network's input. thresholds: see SteppedNetwork::thresholds(). version: of the model.
  SteppedRun(std::shared_ptr<SteppedNetwork> network, std::vector<float> values,
             std::optional<std::vector<float>> thresholds, std::string version, WhenOver when_over)
      : network_(std::move(network)),
        values_(std::move(values)),
        thresholds_(std::move(thresholds)),
        version_(std::move(version)),
        when_over_(std::move(when_over)) {}

  Result<ExitAnswer> next() override;

 private:
  bool leaves(float entropy) const;

  const std::shared_ptr<SteppedNetwork> network_;
  std::vector<float> values_;  // what the next exit needs
  const std::optional<std::vector<float>> thresholds_;
  const std::string version_;
  const WhenOver when_over_;
  std::size_t exit_ = 0;  // that comes next, from 0
  RequestTimes times_;
};

}  // namespace mangrove::serve

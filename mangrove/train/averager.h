#pragma once

#include <optional>
#include <span>

#include "mangrove/net/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/part_exchange.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

/// A worker's side of gossip: it averages its values with those of its neighbours. threads: one at a time.
class Averager {
 public:
  /// patience: neighbours that are silent for longer are left out. interruption: gets the work that ends an average.
  Averager(net::RoleContext& context, Seconds patience, std::optional<net::Message>& interruption)
      : context_(context),
        patience_(patience),
        parts_(context, kValuesTag, interruption),
        interruption_(interruption) {}

  /// Whether its ranks are other workers, and its weights are some.
  bool accepts(const Averaging& averaging) const;
  /// Sends the values to the neighbours, and moves them towards those of each that answers, by its weight.
  /// False: the leader has other work; nothing is changed. errors: cancelled.
  Result<bool> average(const Averaging& averaging, std::span<float> values);

 private:
  Result<bool> receive(net::Rank from, std::span<float> into, Deadline deadline);

  net::RoleContext& context_;
  const Seconds patience_;
  PartExchange parts_;
  const std::optional<net::Message>& interruption_;
};

}  // namespace mangrove::train

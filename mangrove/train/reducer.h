#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mangrove/net/role.h"
#include "mangrove/train/master.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/part_exchange.h"
#include "mangrove/train/reduction.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

/// A worker's side of all_reduce: its own copy of the values, the optimizer that updates them, and the sums that it
/// makes with others. An update is made only when the leader says that everyone has the sum, so copies never part.
/// threads: one at a time.
class Reducer final : private Peers {
 public:
  /// timeout: after a third of it without the part that is waited for, the leader is told. interruption: gets the work
  /// that ends a reduction.
  /// errors: those of Master::create.
  static Result<std::unique_ptr<Reducer>> create(Graph graph, const Recipe& recipe, const Topology& topology,
                                                 net::RoleContext& context, Seconds timeout,
                                                 std::optional<net::Message>& interruption);

  /// Brings the values to the version of this work: with the state in its body, or with the update that it tells of.
  /// False: neither will do; the leader has to send the state.
  bool follow(const Work& work, std::string_view body);
  std::span<const float> values() const { return master_->values(); }

  /// Sums `values`, a gradient and the states weighted with their share of the samples, over the ranks of the work's
  /// reduction. False: it came to nothing, since a rank is lost or the leader has other work. errors: cancelled.
  Result<bool> reduce(const Work& work, std::span<float> values);
  /// For the first part of the last reduction: until the rank that it comes from was ready, mostly.
  Seconds waited() const { return waited_.value_or(0); }

 private:
  Reducer(std::unique_ptr<Master> master, const Topology& topology, net::RoleContext& context, Seconds patience,
          std::optional<net::Message>& interruption)
      : master_(std::move(master)),
        topology_(topology),
        context_(context),
        patience_(patience),
        parts_(context, kPartTag, interruption),
        interruption_(interruption) {}
  void send(net::Rank to, std::span<const float> values) override { parts_.send(to, values); }
  Status recv(net::Rank from, std::span<float> into) override;
  void tell_leader(net::Rank waiting_for);

  std::unique_ptr<Master> master_;
  const Topology topology_;
  net::RoleContext& context_;
  const Seconds patience_;
  PartExchange parts_;
  const std::optional<net::Message>& interruption_;
  std::int64_t version_ = -1;
  std::string sum_;  // of the last reduction, as bytes, until its update is made
  std::uint64_t sum_id_ = 0;
  // of the reduction that goes on
  std::uint64_t id_ = 0, round_ = 0;
  std::optional<Seconds> waited_;
};

}  // namespace mangrove::train

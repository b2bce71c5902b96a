#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/codec/difference.h"
#include "mangrove/graph/graph.h"
#include "mangrove/job/role.h"
#include "mangrove/train/aggregation/aggregation.h"
#include "mangrove/train/chunk_channel.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A worker's side of gossip: it averages its values with those of its neighbours.
///
/// Without a codec, neighbours send each other all their values. With a codec, they send encoded differences. Each of
/// two neighbours keeps a copy of the parameters that the other one has of it, and a copy of the other's parameters. A
/// message moves both copies alike, and the two neighbours average the copies. The less of a difference a message
/// carries, the shorter the step that both make. States are sent as they are.
///
/// cost    Each average moves n f32 to each neighbour, or the codec's message of the parameters and the states as f32.
/// right   Both neighbours make the same step in opposite directions, so the mean of their parameters does not change.
///         A message that was lost is found by the numbers of the copies, and then all values are sent again.
/// memory  With a codec, two copies of the parameters for every neighbour that the worker ever had. With a rule, the
///         values of all neighbours at once, and a copy of its own.
/// source  Koloskova et al., Decentralized stochastic optimization and gossip algorithms with compressed communication,
///         ICML 2019 (CHOCO-SGD). Here each neighbour has a copy of its own, because neighbours change and messages may
///         be lost.
/// threads  one at a time.
class NeighbourAveraging {
 public:
  /// graph: the job's model. interruption: receives the work that ends an average. A neighbour that is silent for a
  /// third of the job's timeout is left out of the average.
  NeighbourAveraging(const TrainJob& job, const Graph& graph, job::RoleContext& context,
                     std::optional<net::Message>& interruption);

  /// Whether its ranks are other workers, and its weights make sense.
  bool accepts(const Averaging& averaging) const;
  /// Sends the values to the neighbours, and moves the values towards those of each neighbour that answers, by its
  /// weight. With a rule the values become what the rule makes of them and those of the neighbours, or stay as they are
  /// where too few neighbours have answered. Returns false if the leader has other work; then nothing is changed.
  /// errors: cancelled.
  Result<bool> average(const Averaging& averaging, std::span<float> values);

  const TransferStats& transfer_stats() const { return parts_.transfer_stats(); }

 private:
  /// A vector that both sides of a link keep alike.
  struct Copy {
    std::uint64_t number = 0;  // 0: there is none
    codec::DifferenceCopy parameters = codec::DifferenceCopy({});
  };
  struct Edge {
    Copy mine;                  // this worker's parameters, as the neighbour has them
    Copy theirs;                // the neighbour's parameters, as this worker has them
    float carried = 1;          // share of the last difference that the sent message carried, 0 to 1
    bool is_confirmed = false;  // the neighbour is known to have `mine`
  };
  void send(net::Rank to, std::span<const float> values);
  void send_difference(net::Rank to, Edge& edge, std::span<const float> values);
  Result<std::optional<ChunkChannel::Arrived>> arrived(net::Rank from, Deadline deadline);
  Result<bool> receive(net::Rank from, std::span<const float> own, std::span<float> change, Deadline deadline);
  Result<bool> apply_rule(const net::RankSet& neighbours, std::span<float> values, Deadline deadline);
  Status combine(std::span<const std::string_view> all, std::span<float> values) const;
  Status take(net::Rank from, const ChunkChannel::Arrived& part, std::span<const float> own, std::span<float> change);
  Status take_difference(Edge& edge, const ChunkChannel::Arrived& part, std::span<const float> own,
                         std::span<float> change);

  job::RoleContext& context_;
  const Seconds patience_;
  ChunkChannel parts_;
  const std::optional<net::Message>& interruption_;
  const std::size_t parameters_;
  const std::unique_ptr<codec::Codec> codec_;  // null: values go as they are
  const std::unique_ptr<Aggregation> rule_;    // null: the mean, by the weights
  std::map<net::Rank, Edge> edges_;
};

}  // namespace mangrove::train

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
#include "mangrove/train/chunk_channel.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A worker's side of gossip: it averages its values with those of its neighbours. With a codec, each of two neighbours
/// keeps a copy of what the other has of its parameters, and one of the other's, and they average what these copies
/// have come to; the coarser a message, the shorter the step that both of them make. States go as they are.
/// source  Koloskova et al., Decentralized stochastic optimization and gossip algorithms with compressed communication,
///         ICML 2019 (CHOCO-SGD), with a copy for each neighbour, as neighbours change and messages may be lost.
/// memory  with a codec: two copies of the parameters for every neighbour that there ever was.
/// threads: one at a time.
class NeighbourAveraging {
 public:
  /// Neighbours that are silent for longer than a third of the job's timeout are left out. graph: the job's model.
  /// interruption: gets the work that ends an average.
  NeighbourAveraging(const TrainJob& job, const Graph& graph, job::RoleContext& context,
                     std::optional<net::Message>& interruption);

  /// Whether its ranks are other workers, and its weights are some.
  bool accepts(const Averaging& averaging) const;
  /// Sends the values to the neighbours, and moves them towards those of each that answers, by its weight.
  /// False: the leader has other work; nothing is changed. errors: cancelled.
  Result<bool> average(const Averaging& averaging, std::span<float> values);

  const TransferStats& transfer_stats() const { return parts_.transfer_stats(); }

 private:
  /// The same vector on both sides of a link.
  struct Copy {
    std::uint64_t number = 0;  // 0: there is none
    codec::DifferenceCopy parameters = codec::DifferenceCopy({});
  };
  struct Edge {
    Copy mine;                  // what the neighbour has of this worker
    Copy theirs;                // what this worker has of it
    float carried = 1;          // of the last difference that was sent
    bool is_confirmed = false;  // that the neighbour has it, as far as is known
  };
  void send(net::Rank to, std::span<const float> values);
  void send_difference(net::Rank to, Edge& edge, std::span<const float> values);
  Result<bool> receive(net::Rank from, std::span<const float> own, std::span<float> change, Deadline deadline);
  Status take(net::Rank from, const ChunkChannel::Arrived& part, std::span<const float> own, std::span<float> change);
  Status take_difference(Edge& edge, const ChunkChannel::Arrived& part, std::span<const float> own,
                         std::span<float> change);

  job::RoleContext& context_;
  const Seconds patience_;
  ChunkChannel parts_;
  const std::optional<net::Message>& interruption_;
  const std::size_t parameters_;
  const std::unique_ptr<codec::Codec> codec_;  // null: values go as they are
  std::map<net::Rank, Edge> edges_;
};

}  // namespace mangrove::train

#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/network_cache.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Gives the job its network. One that is to be cut into stages gets an outline, too, unless most of it would have to
/// stay in it (the weights of a quantized network do). errors: those of split_wide_layers.
Status set_network(const Graph& network, InferJob& job);
/// Fully connected layers with more weights than this are cut into parts, which may be in different stages.
constexpr Bytes kWidestLayer = MiB(16);

/// The job as other ranks than 0 get it. Its networks are named by their SHA-256 and do not travel with it. The first
/// layers that rank 0 computes itself, the seed of the noise behind them, and trained noise are left out.
InferJob without_networks(InferJob job);

/// Gives the networks of a job to nodes that do not have them. In a job with tiers, a node gets the network of its own
/// tier only: the network of another tier may contain what an untrusted device must not know.
/// threads: one at a time.
class NetworkServer {
 public:
  /// job: as the client sent it; must outlive this object.
  explicit NetworkServer(const InferJob& job);

  /// From now on nodes that ask for one of the weights that the job's outline names by their SHA-256 get it. network:
  /// the job's.
  void serve_weights(const Graph& network);
  /// From now on this node may have the network of this tier.
  void grant(net::Rank rank, std::size_t tier);
  /// Sends the part that was asked for, or the error in its place. errors: invalid_argument (the job has no such
  /// network, or the network no such part), permission_denied (it is the network of another tier).
  Status answer(net::Endpoint& endpoint, net::Rank rank, const NeedNetwork& need);
  /// Bytes of networks that were sent to all nodes.
  Bytes sent() const { return sent_; }

 private:
  Result<std::string_view> find(net::Rank rank, const NeedNetwork& need);
  void name_weights();

  std::map<std::string, std::string_view> by_sha256_;
  std::vector<Tensor> weights_;                // those of by_sha256_ that are no networks are views of these
  bool are_named_ = true;                      // by_sha256_ has them: not before somebody asks for one
  std::vector<std::string> of_tiers_;          // SHA-256 by tier; empty: all nodes get all networks
  std::map<net::Rank, std::string> of_nodes_;  // SHA-256 that each node may have
  Bytes sent_ = 0;
};

/// How a node gets a network, or some of its weights: from its cache, or in parts from the leader. A network from the
/// leader goes into the cache. The questions for parts are no job::Requests: nobody else can be asked, so the node asks
/// again for parts that have not come, with ever more patience. threads: one at a time.
class NetworkFetch {
 public:
  /// timeout: a part that has not come by then is asked for again.
  NetworkFetch(job::RoleContext& context, Seconds timeout)
      : context_(context),
        timeout_(timeout),
        networks_(cache_folder(context), ".onnx"),
        weights_(cache_folder(context), ".weights") {}

  /// The network as an ONNX file. errors: unavailable (the leader is gone), cancelled (the job has ended),
  /// invalid_argument (not a SHA-256), permission_denied (the leader refuses), data_loss (what came has another
  /// SHA-256, several times).
  Result<std::string> get(const std::string& sha256) { return get(sha256, networks_); }
  /// The elements of a tensor of which the outline says only the SHA-256. errors: as get().
  Result<std::string> get_weights(const std::string& sha256) { return get(sha256, weights_); }

  /// Whether commands came meanwhile. next_command() returns them in their order.
  bool has_commands() const { return !commands_.empty(); }
  net::Message next_command();

 private:
  static fs::path cache_folder(const job::RoleContext& context);
  Result<std::string> get(const std::string& sha256, const NetworkCache& cache);
  Result<std::string> receive(const std::string& sha256);

  job::RoleContext& context_;
  const Seconds timeout_;
  const NetworkCache networks_, weights_;
  std::deque<net::Message> commands_;
};

}  // namespace mangrove::infer

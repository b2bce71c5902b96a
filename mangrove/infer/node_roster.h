#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/reports.h"
#include "mangrove/job/role.h"
#include "mangrove/job/roster.h"

namespace mangrove::infer {

/// The nodes of a job as the leader sees them: their roster, their messages, and the networks that they ask for.
/// threads: one at a time.
class NodeRoster final : private job::Roster::Owner {
 public:
  /// timeout: how often a node that has not said hello is asked to. networks: given to nodes that ask for one.
  NodeRoster(job::RoleContext& context, Reports& reports, NetworkServer networks, Seconds timeout);

  /// The description of the data, if the leader has the data itself. Then nodes without the data can work too. To be
  /// called before gather().
  void set_data(const Hello& data);
  /// Nodes without the data can work too, because some tasks need none. To be called before gather().
  void take_without_data() { roster_.take_without_data(); }
  /// Waits until every node has described its data, or until the timeout if at least one node that knows the data has;
  /// after set_data(), any node is enough. The others may still come later, as spare nodes. A node that is receiving a
  /// network is waited for. A node that cannot take part is left out, which is an event. So is a node whose data
  /// differs from that of most nodes, unless set_data() or take_without_data() was called. Returns the description of
  /// the data.
  /// errors: as next(); unavailable (no node has come in three timeouts); if no node has the data, the error of a node
  /// that was left out, or failed_precondition.
  Result<Hello> gather();

  /// The nodes that can work, by rank.
  net::RankSet usable() const { return roster_.present(); }
  bool is_usable(net::Rank rank) const { return roster_.is_present(rank); }
  /// Why a node was left out. Nothing: it was not left out, or is gone.
  const std::optional<Error>& failure(net::Rank rank) const { return roster_.failure(rank); }
  /// Waits until at least one node can work, and returns those that can. errors: those of gather().
  Result<net::RankSet> wait_usable();
  const Hello& hello(net::Rank rank) const { return hellos_.at(rank); }
  /// Whether the node has the data that gather() returned. REQUIRES is_usable(rank).
  bool has_data(net::Rank rank) const { return roster_.has_data(rank); }

  /// The node has done what it was asked to do.
  void has_worked(net::Rank rank) { roster_.forget_misses(rank); }
  /// The node has done nothing of what it was asked to do for a timeout. It may be asked again.
  void note_no_answer(net::Rank rank) { roster_.note_no_answer(rank); }
  /// The node does nothing of what it was asked to do: it is left out. why: without its name.
  void leave_out_idle(net::Rank rank, const Error& why) { roster_.leave_out_idle(rank, why); }
  /// The node gets no more work. why: without its name.
  void leave_out(net::Rank rank, const Error& why) { roster_.leave_out(rank, why); }

  /// In a job with tiers: lets the node have the network of its tier.
  void grant_network(net::Rank rank, std::size_t tier) { networks_.grant(rank, tier); }
  /// Lets nodes have single weights of the job's network.
  void serve_weights(const Graph& network) { networks_.serve_weights(network); }
  void send(net::Rank rank, const Command& command);
  /// Bytes of networks that were sent to nodes.
  Bytes model_bytes() const { return networks_.sent(); }

  struct Said {
    net::Rank rank;
    FromNode message;  // neither a hello nor a question for a network
  };
  /// The next message of a node. Returns nothing at `deadline`, after a fifth of a second, or when a node was lost.
  /// errors: cancelled (also when the job is asked to stop); unavailable (no node is left); if all nodes failed, the
  /// error of the last one.
  Result<std::optional<Said>> next(Deadline deadline);
  /// The next message and all others that have come. errors: as next(), if no message came before.
  Result<std::vector<Said>> all(Deadline deadline);

  /// Tells all nodes that the job is done.
  void end();

 private:
  void ask_for_hello(net::Rank rank) override;
  void left_out(const net::RankSet& ranks, const Error& why) override {
    reports_.event(NodeLeftOut{roster_.names(ranks), why.message});
  }
  void lost(net::Rank) override {}
  void take_hello(net::Rank rank, Hello hello);
  void answer_need(net::Rank rank, const NeedNetwork& need);

  job::RoleContext& context_;
  Reports& reports_;
  NetworkServer networks_;
  job::Roster roster_;
  bool heard_ = false;  // the last call of next() received a message
  std::map<net::Rank, Hello> hellos_;
};

}  // namespace mangrove::infer

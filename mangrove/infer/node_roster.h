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

/// The nodes of a job as the leader sees them: their roster, what they say, and the networks that they ask for.
/// threads: one at a time.
class NodeRoster final : private job::Roster::Owner {
 public:
  /// timeout: how often a node that has not said hello is asked to. networks: for those that ask for one.
  NodeRoster(job::RoleContext& context, Reports& reports, NetworkServer networks, Seconds timeout);

  /// What the data is like, where the leader has it itself: nodes that do not have it then work too. Before gather().
  void set_data(const Hello& data);
  /// Nodes without the data work too, as some tasks need none. Before gather().
  void take_without_data() { roster_.take_without_data(); }
  /// Waits until every node has said what data it has, or until the timeout if at least one has that knows any, or,
  /// after set_data(), any node at all (the others may still come in later, as spare ones); while parts of a network go
  /// to one, it is waited for. A node that cannot take part is left out, with an event; so is, without set_data() and
  /// take_without_data(), one whose data differs from that of most nodes. Returns what the data is like.
  /// errors: as next(); unavailable (none has come in three timeouts); where nobody has the data, that of a node that
  /// was left out, or failed_precondition.
  Result<Hello> gather();

  /// Those that can work, by rank.
  net::RankSet usable() const { return roster_.present(); }
  bool is_usable(net::Rank rank) const { return roster_.is_present(rank); }
  /// Why a node was left out; nothing: it was not, or is gone.
  const std::optional<Error>& failure(net::Rank rank) const { return roster_.failure(rank); }
  /// The same, waiting until there is one. errors: as gather().
  Result<net::RankSet> wait_usable();
  const Hello& hello(net::Rank rank) const { return hellos_.at(rank); }
  /// Whether it has the data that gather() returned. REQUIRES is_usable(rank).
  bool has_data(net::Rank rank) const { return roster_.has_data(rank); }

  /// Where the job has tiers: lets the node have the network of its tier.
  void grant_network(net::Rank rank, std::size_t tier) { networks_.grant(rank, tier); }
  void send(net::Rank rank, const Command& command);
  /// Bytes of networks that nodes did not have.
  Bytes model_bytes() const { return networks_.sent(); }

  struct Said {
    net::Rank rank;
    FromNode message;  // neither a hello nor a question for a network
  };
  /// What a node says next, or nothing until `deadline`, for a fifth of a second, or when a node was lost.
  /// errors: cancelled (also when the job is asked to stop); unavailable: no node is left; if all failed, the last
  /// one's error.
  Result<std::optional<Said>> next(Deadline deadline);
  /// The same, and with it all that has come besides. errors: the same, where nothing was said before.
  Result<std::vector<Said>> all(Deadline deadline);

  /// Tells all that the job is done.
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
  bool heard_ = false;  // anything, when next() was called last
  std::map<net::Rank, Hello> hellos_;
};

}  // namespace mangrove::infer

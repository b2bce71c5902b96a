#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/reports.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// The nodes of a job as the leader sees them.
/// threads: one at a time.
class Nodes {
 public:
  /// timeout: how often a node that has not said hello is asked to. networks: for those that ask for one.
  Nodes(net::RoleContext& context, Reports& reports, Networks networks, Seconds timeout);

  /// What the data is like, where the leader has it itself: nodes that do not have it then work too. Before gather().
  void set_data(Hello data);
  /// Nodes without the data work too, as some tasks need none. Before gather().
  void take_without_data() { takes_without_data_ = true; }
  /// Waits until every node has said what data it has, or until the timeout if at least one has that knows any, or,
  /// after set_data(), any node at all (the others may still come in later, as spare ones); while parts of a network go
  /// to one, it is waited for. A node that cannot take part is left out, with an event; so is, without set_data() and
  /// take_without_data(), one whose data differs from that of most nodes. Returns what the data is like.
  /// errors: as next(); unavailable (none has come in three timeouts); where nobody has the data, that of a node that
  /// was left out, or failed_precondition.
  Result<Hello> gather();

  /// Those that can work, by rank.
  net::RankSet usable() const;
  bool is_usable(net::Rank rank) const { return nodes_.at(rank).state == State::usable; }
  /// Why a node was left out; nothing: it was not, or is gone.
  const std::optional<Error>& failure(net::Rank rank) const { return nodes_.at(rank).failure; }
  /// The same, waiting until there is one. errors: as gather().
  Result<net::RankSet> wait_usable();
  const Hello& hello(net::Rank rank) const { return nodes_.at(rank).hello; }
  /// Whether it has the data that gather() returned. REQUIRES is_usable(rank).
  bool has_data(net::Rank rank) const;

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
  enum class State { starting, usable, out };
  struct Node {
    State state = State::starting;
    Hello hello;
    bool said_hello = false;
    std::optional<Error> failure = {};  // why it was left out
    Instant next_ping;
  };
  bool has_gathered(Instant since) const;
  void take_hello(net::Rank rank, const Hello& hello);
  void choose_reference();
  void admit(net::Rank rank);
  void leave_out(net::Rank rank, const Error& error);
  void drop_gone();
  void ping_starting();
  net::RankSet ranks_not_out() const;
  Instant last_sign(Instant since) const;
  Status check_patience(Instant since) const;

  net::RoleContext& context_;
  Reports& reports_;
  Networks networks_;
  bool heard_ = false;    // anything, when next() was called last
  Instant last_request_;  // for a part of a network
  Seconds timeout_;
  std::map<net::Rank, Node> nodes_;
  Hello reference_;  // what the data is like
  bool has_reference_ = false;
  bool takes_without_data_ = false;
  Error last_failure_;
};

}  // namespace mangrove::infer

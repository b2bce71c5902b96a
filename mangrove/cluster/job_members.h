#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/cluster/membership.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/net/subjects.h"

namespace mangrove::cluster {

/// The nodes of a job: which rank each has, and what it has been told of its role and of the others. They have the
/// ranks from 1 on; rank 0 is the coordinator. A node that is gone keeps its rank, and one that joins later gets the
/// next free one. A newcomer is introduced to all others before it begins, so that nobody has to do with a rank that it
/// has not heard of:
///
///     begin() --start()--> at work --end()--> ended
///     add() --publish(), all others say that they know() it, introduce(), start()--> at work
///     any of them --lose() or give_up()--> gone; whoever comes back is a newcomer with another rank
///
/// Messages to nodes go over their links, which never block. threads: one at a time.
class JobMembers {
 public:
  /// own_address, own_subject: of rank 0, see RankAddress.
  JobMembers(std::string job, std::string own_address, std::string own_subject = "")
      : job_(std::move(job)), own_address_(std::move(own_address)), own_subject_(std::move(own_subject)) {}

  /// The nodes that the job begins with. Once, before all others.
  void begin(std::vector<Member> nodes);
  /// A newcomer.
  void add(Member node);
  /// The node does not take part any more. False: it was gone already, or is none of the job's.
  bool lose(MemberId node);
  /// Does as lose() for a node that is well, and tells it to end its role. Other jobs wait for it.
  bool give_up(MemberId node);
  /// Notes that the node's role with this rank has ended. False: the rank is not this node's.
  bool end(MemberId node, net::Rank rank);
  /// The node has heard of the members as they were in this version.
  void know(MemberId node, std::uint64_t version);

  bool has(MemberId node) const { return place(node) < entries_.size(); }
  /// Whether it may be a newcomer: it has never taken part, or was given up and its role has ended. One whose role has
  /// failed would fail again.
  bool may_come(MemberId node) const;
  /// REQUIRES: has(node).
  const std::string& name(MemberId node) const { return entries_.at(place(node)).node.description.name(); }
  /// Of the node with this name that takes part; 0: none does.
  net::Rank rank_of(const std::string& name) const;
  std::size_t alive_count() const;
  /// Those that have their roles and are not gone, by rank.
  std::map<net::Rank, MemberId> at_work() const;
  bool all_ended() const;  // or are gone

  /// All, and where they are reached; with rank 0.
  net::Members members() const;
  std::map<net::Rank, std::string> addresses() const;
  net::Subjects subjects() const;  // of the ranks that have certificates

  /// Whether publish() would tell anything.
  bool has_changed() const { return published_ != version_; }
  /// Tells those at work of all members. Returns what rank 0 is to be told, which has those at work only; nothing:
  /// nothing has changed since the last call.
  std::optional<net::Members> publish();
  /// Those that do not know all newcomers yet, and what they know: newcomers wait for them.
  struct Unaware {
    MemberId node;
    std::uint64_t known;  // version of the members
  };
  std::vector<Unaware> unaware() const;
  /// Where all others know the newcomers: all members, for rank 0, before start() lets the newcomers begin.
  std::optional<net::Members> introduce();
  /// Gives their roles to those of these members that have none yet.
  void start(const net::Members& known);
  /// Ends the roles of all. Newcomers that have none are no members any more.
  void end_roles();

 private:
  struct Entry {
    Member node;
    bool gone = false;
    bool given_up = false;
    bool ended = false;       // its role
    std::uint64_t known = 0;  // version of the members that its node has been told of
  };

  /// The place of the node's last stay; entries_.size(): it has none.
  std::size_t place(MemberId node) const;
  void tell_to_end(const Entry& entry) const;
  void fill_ranks(google::protobuf::RepeatedPtrField<RankAddress>& ranks) const;

  const std::string job_, own_address_, own_subject_;
  std::vector<Entry> entries_;  // by rank, from 1 on
  std::size_t started_ = 0;     // the first so many have their roles
  std::uint64_t version_ = 1, published_ = 1;
  std::uint64_t introduction_ = 1;  // version that has all newcomers
};

}  // namespace mangrove::cluster

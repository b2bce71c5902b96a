#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/failure_detector.h"
#include "mangrove/cluster/traffic_rate.h"

namespace mangrove::cluster {

/// The coordinator's line to one node.
/// threads: any thread may call any method; both return at once.
class NodeLink {
 public:
  virtual ~NodeLink() = default;
  virtual void send(ToNode message) = 0;  // dropped when the line is down
  virtual void cut() = 0;
};

/// So many jobs in a row in which a node did nothing put it aside: it gets no part in jobs until it has joined again.
constexpr int kMostIdleJobs = 3;

enum class MemberState { alive, lost, left };
const char* member_state_name(MemberState state);  // "alive", ...

struct Member {
  MemberId id = 0;
  MemberState state = MemberState::alive;
  NodeDescription description;  // with the name that the cluster knows it by
  std::string certified{};      // the name in its certificate; "": it has none
  ResourceUse use;              // of the last heartbeat
  std::shared_ptr<NodeLink> link;
  Instant heard{};     // its last heartbeat, or its joining
  TrafficRate rate{};  // of its messages
  int idle_jobs = 0;   // in a row

  bool is_put_aside() const { return idle_jobs >= kMostIdleJobs; }
};

/// The nodes of a cluster: who is there, and who was.
/// threads: any thread may call any method.
class Membership {
 public:
  /// A node that is silent for longer than so many intervals is lost.
  Membership(Seconds heartbeat_interval, int misses) : detector_(heartbeat_interval, misses) {}

  /// The member's name is the one in its certificate or, without one, the one in `description`. A name that a living
  /// node has gets a number: "pi", "pi#2", "pi#3". certified: the name in the certificate; "": there is none.
  Member join(NodeDescription description, const std::string& certified, std::shared_ptr<NodeLink> link, Instant now);
  /// False: the member is not alive any more (it was declared lost), and must join anew.
  bool heartbeat(MemberId member, const ResourceUse& use, Instant now);
  /// It left, or its line broke. False: it was not alive any more.
  bool gone(MemberId member, MemberState state);
  /// Counts a job that has ended, in which the member did nothing, or something.
  void count_job(MemberId member, bool was_idle);
  /// Declares lost who has been silent for longer than the limit.
  std::vector<MemberId> expire(Instant now);

  bool alive(MemberId member) const;
  std::vector<Member> alive() const;  // in order of joining
  /// Those of alive() that may take part in jobs, and the names of the others.
  std::vector<Member> for_jobs() const;
  std::vector<std::string> put_aside() const;
  /// All, and the last of those that are gone; in order of joining.
  std::vector<NodeStatus> list(Instant now) const;

 private:
  Member* find(MemberId member) MG_REQUIRES(mutex_);
  std::string free_name(const std::string& wanted) const MG_REQUIRES(mutex_);
  void forget_old() MG_REQUIRES(mutex_);

  mutable Mutex mutex_;
  FailureDetector detector_ MG_GUARDED_BY(mutex_);
  std::list<Member> members_ MG_GUARDED_BY(mutex_);
  MemberId next_ MG_GUARDED_BY(mutex_) = 1;
};

}  // namespace mangrove::cluster

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/membership.h"

namespace mangrove::cluster {

/// What a job wants of the cluster.
struct NodeClaim {
  std::string job;
  int priority = 0;                   // higher ones get nodes first
  double share = 1;                   // of each node, more than 0
  std::vector<std::string> labels{};  // that a node must have
  std::size_t wanted = 1;             // it waits until so many nodes have room for it; at least 1
  /// It works with any number of nodes: it gives nodes to jobs of higher priority that wait, and keeps one.
  bool is_elastic = false;
};

/// Divides the nodes of a cluster among its jobs. Each job takes a share of each of its nodes, and the shares of the
/// jobs on one node add up to 1 at most. Jobs that wait get nodes in the order of their priority, then of their coming.
/// A job for which not enough nodes have joined holds up no other. A job that cannot begin because others have its
/// nodes holds up those behind it, so that many small jobs do not keep a large one waiting for ever; elastic jobs of
/// lower priority make room for it.
///
///     enter() --begin()--> it has nodes --grow(), give_up(), release()--> ... --leave()--> gone
///
/// threads: any thread may call any method.
class NodeAllocator {
 public:
  explicit NodeAllocator(const Membership& membership) : membership_(membership) {}

  /// The job waits from now on. REQUIRES: no other job has this name.
  void enter(NodeClaim claim);
  /// Picks the nodes of a job that waits. free: those that have room for it; none while another job goes first.
  /// fitting: how many would do, with those that others have. Returns what the job begins with; none: it waits on.
  using Pick = std::function<Result<std::vector<Member>>(std::vector<Member> free, std::size_t fitting)>;
  /// Gives a job that waits what `pick` takes, if that is anything. errors: those of `pick`.
  Result<std::vector<Member>> begin(const std::string& job, const Pick& pick);
  /// Gives a job that runs up to `most` more nodes, of those that `accepts` lets pass. Leaves out the nodes that would
  /// do for a job that waits with the same or a higher priority.
  std::vector<Member> grow(const std::string& job, std::size_t most, const std::function<bool(MemberId)>& accepts);
  /// Which nodes an elastic job shall give to others now. They stay its own until release().
  std::vector<MemberId> to_give_up(const std::string& job);
  /// The job has no role on this node any more.
  void release(const std::string& job, MemberId node);
  /// The job waits and runs no longer: its nodes are free.
  void leave(const std::string& job);

  /// Grows with each change that may concern another job: one waits, or makes room.
  std::uint64_t changes() const { return changes_; }
  /// Names the other jobs that have nodes.
  std::vector<std::string> others_at_work(const std::string& job) const;

 private:
  struct Entry {
    NodeClaim claim;
    bool waits = true;
    std::set<MemberId> nodes{};    // it has a share of them
    std::set<MemberId> leaving{};  // of these, those that it gives up
  };
  using Entries = std::list<Entry>;  // in the order of their coming

  Entries::iterator find(const std::string& job) MG_REQUIRES(mutex_);
  double used(MemberId node) const MG_REQUIRES(mutex_);
  std::vector<Member> free(const Entry& entry, const std::vector<Member>& all) const MG_REQUIRES(mutex_);
  std::vector<std::pair<Entry*, MemberId>> donations(const Entry& needy, const std::vector<Member>& all,
                                                     std::set<MemberId>& promised) MG_REQUIRES(mutex_);

  const Membership& membership_;
  std::atomic<std::uint64_t> changes_ = 0;
  mutable Mutex mutex_;
  Entries entries_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::cluster

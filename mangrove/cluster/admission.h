#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/membership.h"

namespace mangrove::cluster {

constexpr int kMostNodes = 1'000'000;  // that a job may wish for

/// Which nodes of the cluster a job gets: those that it begins with, as soon as there are enough, and those that it
/// takes in while it runs. threads: any thread may call any method.
class Admission {
 public:
  /// began: when it began to wait. nodes_before: of a job that goes on after a restart of the coordinator, the number
  /// of nodes that it had; it waits 15 s for as many, and then takes those that there are.
  Admission(const JobSpec& job, std::optional<std::size_t> nodes_before, Instant began);

  /// errors: invalid_argument (a number of nodes or a timeout that makes no sense).
  Status check() const;
  /// Chooses the nodes that the job begins with; none: it has to wait for more. free: nodes with room for the job.
  /// joined: how many there are, with those that other jobs have; the timeout runs only while these are too few.
  /// errors: failed_precondition (no node has joined in time), deadline_exceeded (fewer than the job asks for).
  Result<std::vector<Member>> first(std::vector<Member> free, std::size_t joined, Instant now);
  /// The nodes that must have joined before it can begin.
  std::size_t least() const;
  /// How many newcomers a job takes in that runs on so many nodes.
  std::size_t room(std::size_t nodes) const;

 private:
  Result<bool> are_enough(std::size_t free, std::size_t joined, Seconds waited) const;

  const int wanted_;  // 0: all that there are, and those that come later
  const Seconds timeout_;
  const std::vector<std::string> labels_;  // that its nodes must have
  const bool takes_newcomers_;
  const std::optional<std::size_t> nodes_before_;
  Instant began_;  // to wait for nodes that have not joined
};

}  // namespace mangrove::cluster

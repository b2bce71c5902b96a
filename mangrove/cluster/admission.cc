#include "mangrove/cluster/admission.h"

#include <algorithm>
#include <limits>
#include <string>

#include "mangrove/base/units.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kLongestWait = 3600;  // for nodes: nobody else has a job meanwhile
constexpr Seconds kRejoinWithin = 15;   // after a restart of the coordinator

}  // namespace

/// Pipelines and placements are planned for the nodes that there are: only training takes newcomers in.
Admission::Admission(const JobSpec& job, std::optional<std::size_t> nodes_before, Instant began)
    : wanted_(job.nodes()),
      timeout_(job.nodes_timeout_s()),
      takes_newcomers_(job.has_train()),
      nodes_before_(nodes_before),
      began_(began) {}

Status Admission::check() const {
  if (wanted_ < 0 || wanted_ > kMostNodes)
    return make_error(Code::invalid_argument,
                      "nodes: must be from 0 to " + std::to_string(kMostNodes) + ", got " + std::to_string(wanted_));
  if (!(timeout_ >= 0 && timeout_ <= kLongestWait))
    return make_error(Code::invalid_argument,
                      "nodes_timeout_s: must be from 0 to an hour, got " + std::to_string(timeout_));
  return {};
}

Result<std::vector<Member>> Admission::first(std::vector<Member> alive, Instant now) const {
  MG_TRY(const bool enough, are_enough(alive.size(), now - began_));
  if (!enough) return std::vector<Member>();
  if (wanted_ != 0) alive.resize(std::min(alive.size(), static_cast<std::size_t>(wanted_)));
  return alive;
}

Result<bool> Admission::are_enough(std::size_t found, Seconds waited) const {
  if (nodes_before_) return found > 0 && (found >= *nodes_before_ || waited >= kRejoinWithin);
  if (found >= std::max<std::size_t>(static_cast<std::size_t>(wanted_), 1)) return true;
  if (wanted_ == 0) return make_error(Code::failed_precondition, "no nodes have joined");
  if (waited < timeout_) return false;
  return make_error(Code::deadline_exceeded, std::to_string(wanted_) + (wanted_ == 1 ? " node" : " nodes") +
                                                 " asked for, " + std::to_string(found) + " joined within " +
                                                 format_seconds(timeout_));
}

std::size_t Admission::room(std::size_t nodes) const {
  if (!takes_newcomers_) return 0;
  if (wanted_ == 0) return std::numeric_limits<std::size_t>::max();
  const auto wanted = static_cast<std::size_t>(wanted_);
  return wanted - std::min(wanted, nodes);
}

}  // namespace mangrove::cluster

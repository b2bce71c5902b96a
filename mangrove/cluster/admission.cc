#include "mangrove/cluster/admission.h"

#include <algorithm>
#include <limits>
#include <string>

#include "mangrove/base/suggestion.h"
#include "mangrove/base/units.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kLongestWait = 3600;  // for nodes to join
constexpr Seconds kRejoinWithin = 15;   // after a restart of the coordinator

}  // namespace

/// Pipelines and placements are planned for the nodes that there are: only training takes newcomers in.
Admission::Admission(const JobSpec& job, std::optional<std::size_t> nodes_before, Instant began)
    : wanted_(job.nodes()),
      timeout_(job.nodes_timeout_s()),
      labels_(job.labels().begin(), job.labels().end()),
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

std::size_t Admission::least() const {
  return nodes_before_ ? 1 : static_cast<std::size_t>(std::max(wanted_, 1));
}

Result<std::vector<Member>> Admission::first(std::vector<Member> free, std::size_t joined, Instant now) {
  MG_TRY(const bool enough, are_enough(free.size(), joined, now - began_));
  if (!enough && !nodes_before_ && joined >= least()) began_ = now;
  if (!enough) return std::vector<Member>();
  if (wanted_ != 0) free.resize(std::min(free.size(), static_cast<std::size_t>(wanted_)));
  return free;
}

Result<bool> Admission::are_enough(std::size_t free, std::size_t joined, Seconds waited) const {
  if (nodes_before_) return free > 0 && (free >= *nodes_before_ || waited >= kRejoinWithin);
  if (free >= least()) return true;
  if (joined >= least()) return false;  // other jobs have them
  const std::string kind = labels_.empty() ? "" : " with the labels " + join_words(labels_);
  if (waited < timeout_) return false;
  if (wanted_ == 0)
    return make_error(Code::failed_precondition, "no nodes" + kind + " have joined within " + format_seconds(timeout_));
  return make_error(Code::deadline_exceeded, std::to_string(wanted_) + (wanted_ == 1 ? " node" : " nodes") + kind +
                                                 " asked for, " + std::to_string(joined) + " joined within " +
                                                 format_seconds(timeout_));
}

std::size_t Admission::room(std::size_t nodes) const {
  if (!takes_newcomers_) return 0;
  if (wanted_ == 0) return std::numeric_limits<std::size_t>::max();
  const auto wanted = static_cast<std::size_t>(wanted_);
  return wanted - std::min(wanted, nodes);
}

}  // namespace mangrove::cluster

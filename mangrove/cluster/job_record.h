#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/report.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/membership.h"
#include "mangrove/cluster/node_event.h"
#include "mangrove/cluster/usage.h"

namespace mangrove::cluster {

/// What is known of a job that runs, for its client and for those who ask: how far it is, what has happened to its
/// nodes, and what they use. All that becomes a part of its result. threads: one at a time.
class JobRecord {
 public:
  /// began: the times of events count from there.
  JobRecord(std::string job, Instant began) : job_(std::move(job)), began_(began) {}

  /// A node takes part from now on.
  void add_node(const Member& node, Instant now) { usage_.add(node.id, node.description.name(), node.use, now); }
  void add_use(MemberId node, const ResourceUse& use, Instant now) { usage_.sample(node, use, now); }
  void set_state(MemberId node, MemberState state) { usage_.set_state(node, member_state_name(state)); }
  /// Something has happened to a node; an empty message says no more about it.
  void add_event(const NodeEventKind& kind, const std::string& node, const std::string& message, Instant now);

  /// A report of rank 0. Returns what is for the client at once; nothing: it is the result, which take_result()
  /// gives out.
  std::optional<Report> take(Report report);

  /// For the client: the events of nodes since the last call, and what nodes use.
  bool has_news() const { return !unsent_.empty(); }
  std::vector<Report> take_events();
  Report nodes_report();
  /// The result with what nodes have used and all events; nothing: rank 0 has reported none.
  /// errors: internal (it is no JSON object).
  Result<std::optional<Report>> take_result();

  /// JSON: of nodes and of rank 0, in order.
  const std::vector<std::string>& events() const { return events_; }
  bool has_result() const { return result_.has_value(); }
  /// The last report of progress, JSON; "": there was none.
  const std::string& progress() const { return progress_; }

 private:
  const std::string job_;
  const Instant began_;
  UsageBook usage_;
  std::vector<std::string> events_;  // JSON: of nodes and of rank 0, in order
  std::vector<Report> unsent_;       // those of nodes that the client has not heard of
  std::string progress_;
  std::optional<Report> result_;
};

}  // namespace mangrove::cluster

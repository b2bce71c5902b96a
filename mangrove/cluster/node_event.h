#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/job/event.h"

namespace mangrove::cluster {

/// What can happen to a node of a job, or to its coordinator.
struct NodeEventKind {
  const char* name;
  bool is_warning;
  const char *before, *behind;  // the node's name in the sentence for people
};
inline constexpr NodeEventKind kNodeLost{"node_lost", true, "", " is lost"};
inline constexpr NodeEventKind kNodeLeft{"node_left", false, "", " has left"};
inline constexpr NodeEventKind kNodeJoined{"node_joined", false, "", " has joined"};
inline constexpr NodeEventKind kRoleFailed{"role_failed", true, "", " could not do its part"};
inline constexpr NodeEventKind kNodeIdle{"node_idle", true, "", " does nothing for the job"};
inline constexpr NodeEventKind kNodeGivenUp{"node_given_up", false, "", " goes to a job of higher priority"};
inline constexpr NodeEventKind kCoordinatorLost{"coordinator_lost", true, "the coordinator at ", " does not answer"};
inline constexpr NodeEventKind kCoordinatorBack{"coordinator_back", false, "the coordinator at ", " answers again"};

/// That it has happened.
struct NodeEvent {
  std::string event, node;
  Seconds time = 0;  // since the job began
  std::optional<std::string> message;
  std::string sentence;
  bool is_warning = false;

  NodeEvent() = default;
  /// time: is rounded to milliseconds. message: why; "": no more is known.
  NodeEvent(const NodeEventKind& kind, const std::string& node, Seconds time, const std::string& message = {});
  Report report() const;

  static void fields(auto& self, auto& field) {
    field("event", self.event);
    field("node", self.node);
    field("time_s", self.time);
    field("message", self.message);
    field("sentence", self.sentence);
    field("warning", self.is_warning);
  }
};

/// A job that is kept has lost all its nodes, and goes on from its last checkpoint.
struct WaitingForNodes {
  static constexpr const char* kEvent = "waiting_for_nodes";
  static constexpr bool kIsWarning = true;

  std::string sentence() const { return "all nodes are lost; the job goes on when one joins"; }
  static void fields(auto&, auto&) {}
};

/// A job waits for nodes that others have.
struct Queued {
  static constexpr const char* kEvent = "queued";
  static constexpr bool kIsWarning = false;

  std::vector<std::string> jobs;  // the others

  std::string sentence() const { return "waiting for nodes that other jobs have: " + join_words(jobs); }
  static void fields(auto& self, auto& field) { field("jobs", self.jobs); }
};

/// A job waits for nodes that have not joined.
struct TooFewNodes {
  static constexpr const char* kEvent = "too_few_nodes";
  static constexpr bool kIsWarning = false;

  std::size_t wanted = 0;
  std::size_t joined = 0;

  std::string sentence() const {
    return "waiting for nodes to join: " + std::to_string(joined) + " of " + std::to_string(wanted) + " did";
  }
  static void fields(auto& self, auto& field) {
    field("wanted", self.wanted);
    field("joined", self.joined);
  }
};

}  // namespace mangrove::cluster

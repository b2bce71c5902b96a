#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/infer/pipeline/stage_plan.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// What the leader tells the client, as JSON. Keys are listed in docs/json.md.
/// threads: one at a time.
class Reports {
 public:
  explicit Reports(net::RoleContext& context) : context_(context) {}

  /// phase: "single", "pipeline" ... seconds: since the phase began.
  void progress(const char* phase, std::int64_t done, std::int64_t total, Seconds seconds);
  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  /// No spare node is there for the stages of a lost one: this is how the others go on.
  void replanned(const StagePlan& plan);
  /// Boards or links have become slower or faster: this is how they go on.
  void revised(const StagePlan& plan);
  void node_left_out(net::Rank rank, const std::string& reason);
  /// phase: "single", which is done again because this rank was lost or silent.
  void redone(const char* phase, net::Rank rank);
  /// Between tiers, by the user. seconds: since the first task.
  void scheduler_switched(std::string_view from, std::string_view to, Seconds seconds);
  /// Of frames that a client pushes, in their order: docs/json.md lists the keys.
  void answers(nlohmann::ordered_json answers);
  /// A line of the stream of answers (see tier_answers.h).
  void tier_answers(std::string json);
  /// Of the strategy "views": from now on the network does without this view, from 0.
  void view_lost(std::size_t view, net::Rank rank, const std::string& reason);
  /// A line of the stream of answers (see view_answers.h).
  void view_answers(std::string json);
  /// json: see result.h.
  void result(std::string json);

  /// The name of the rank's node.
  std::string node(net::Rank rank) const;

 private:
  void event(std::string json);
  void new_plan(const char* event, const StagePlan& plan);
  net::RoleContext& context_;
};

}  // namespace mangrove::infer

#pragma once

#include <string>
#include <string_view>

#include "mangrove/job/reports.h"

namespace mangrove::infer {

/// What the leader tells the client of inference.
/// threads: one at a time.
class Reports final : public job::Reports {
 public:
  using job::Reports::Reports;

  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  /// No spare node is there for the stages of a lost one: this is how the others go on. stages: see stage_places().
  void replanned(const Json& stages);
  /// Boards or links have become slower or faster: this is how they go on.
  void revised(const Json& stages);
  /// names: of one node, or of several that are left out for the same reason.
  void node_left_out(const std::string& names, const std::string& reason);
  /// phase: "single", which is done again because this rank was lost or silent.
  void redone(const char* phase, net::Rank rank);
  /// Between tiers, by the user. seconds: since the first task.
  void scheduler_switched(std::string_view from, std::string_view to, Seconds seconds);
  /// Of frames that a client pushes, in their order: docs/json.md lists the keys.
  void answers(const Json& answers);
  /// How the stages of a pipeline did since the last such line (see pipeline/stage_load_log.h).
  void stage_load(const Json& line);
  /// A line of the stream of answers (see tiers/answers.h).
  void tier_answers(const Json& line);
  /// Of the strategy "views": from now on the network does without this view, from 0.
  void view_lost(std::size_t view, net::Rank rank, const std::string& reason);
  /// A line of the stream of answers (see views/answers.h).
  void view_answers(const Json& line);
  /// json: see result.h.
  void result(const Json& json);
};

/// Images a second; 0 where no time has passed.
double per_second(std::int64_t images, Seconds seconds);

}  // namespace mangrove::infer

#pragma once

#include <string>
#include <vector>

#include "mangrove/infer/stage_plan.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// What the leader tells the client, as JSON. Keys are listed in docs/json.md.
/// threads: one at a time.
class Reports {
 public:
  explicit Reports(net::RoleContext& context) : context_(context) {}

  /// phase: "single" or "pipeline". seconds: since the phase began.
  void progress(const char* phase, std::int64_t done, std::int64_t total, Seconds seconds);
  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  void node_left_out(net::Rank rank, const std::string& reason);
  /// phase: "profile" or "single", which is done again because this rank was lost or silent.
  void redone(const char* phase, net::Rank rank);

  struct Stage {
    StagePlan::Stage plan;
    net::Rank rank = 0;  // that held it at the end
    double seconds = 0;  // busy
    double predicted_seconds = 0;
    std::int64_t sent_bytes = 0;  // to another node
  };
  struct Result {
    std::int64_t images = 0, lost = 0, duplicated = 0, repeated = 0;
    double accuracy = 0, macro_f1 = 0, agreement = 0;
    double seconds = 0, single_seconds = 0, predicted_seconds = 0;
    std::int64_t micro_batch = 0;
    std::size_t window = 0;
    std::vector<Stage> stages;
  };
  void result(const Result& result);

  /// The name of the rank's node.
  std::string node(net::Rank rank) const;

 private:
  void event(std::string json);
  net::RoleContext& context_;
};

}  // namespace mangrove::infer

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/cli/reports/eval_report.h"
#include "mangrove/cli/reports/exits_report.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/infer/ensemble/report.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/tiers/report.h"
#include "mangrove/infer/tiles/report.h"
#include "mangrove/infer/views/report.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {

/// What inference came to: what all strategies have, and the one that did it with all that it tells.
struct InferOutcome {
  infer::InferResult all;
  std::optional<infer::SingleResult> single = {};
  std::optional<infer::PipelineResult> pipeline = {};
  std::optional<infer::EnsembleResult> ensemble = {};
  std::optional<infer::TiersResult> tiers = {};
  std::optional<infer::ViewsResult> views = {};
  std::optional<infer::TilesResult> tiles = {};

  /// What streamed through nodes. Null: nothing did.
  const infer::StreamedResult* streamed() const {
    if (pipeline) return &*pipeline;
    return tiles ? &*tiles : nullptr;
  }
};

/// The results of a run, from {"train": {...}, "eval": {...}, "infer": {...}} as docs/json.md has them. What another
/// program wrote otherwise is left out.
struct RunResults {
  explicit RunResults(const nlohmann::json& results);

  std::optional<train::TrainResult> train, head;  // head: of the first of two phases
  RunFacts train_facts;
  std::optional<EvalReport> eval;
  std::optional<ExitsReport> eval_exits;
  RunFacts eval_facts;
  std::optional<InferOutcome> infer;
  RunFacts infer_facts;
  std::vector<std::string> unreadable;  // "train: epochs: is missing": what was left out, and why
};

}  // namespace mangrove::cli

#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/cli/reports/run_history.h"
#include "mangrove/cli/reports/world_history.h"
#include "mangrove/sim/world.h"

namespace mangrove::cli {

/// What a run folder holds, for a report.
struct RunRecord {
  std::string title;   // "lenet on mnist"
  RunHistory history;  // metrics.jsonl
  nlohmann::json results =
      nlohmann::json::object();                 // what has ended well: {"train": {...}, "infer": {...}}; else empty
  std::map<std::string, std::string> settings;  // job.yaml: "epochs", or "train.epochs" where it has several sections
  std::optional<sim::World> world;              // of a simulated run
  WorldHistory world_history;                   // events.jsonl
};

/// Also while the run goes on. errors: not_found (no such folder, or no run's), data_loss (a file of it cannot be read;
/// names it, and the line), invalid_argument (its settings, or its world).
Result<RunRecord> load_run(const fs::path& folder);

/// {"train": ..., "infer": ...}, of what `mangrove train`, `eval`, `infer`, `sim` or `run` print: but for `run`, that
/// is one result alone.
nlohmann::json results_of(nlohmann::json result);

/// "lenet on mnist", from such results; "" where none says it.
std::string title_of(const nlohmann::json& results);

}  // namespace mangrove::cli

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mangrove/base/report.h"
#include "mangrove/base/result.h"
#include "mangrove/cli/job_context.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/job/event.h"

namespace mangrove::cli {

/// Where a training job is in a run of several, one after the other.
struct RunPhase {
  std::string name = {};         // of its progress and its epochs: "head"; "": the job is the whole run
  std::string file_prefix = {};  // of the files that it leaves: "head-"
  std::int64_t epochs = 0;       // of the whole run
  std::int64_t epochs_done = 0;  // before this job
  Seconds seconds_done = 0;      // of training, before this job
};

/// The first file of the run folder that could not be written.
struct NotWritten {
  static constexpr const char* kEvent = "not_written";
  static constexpr bool kIsWarning = true;
  std::string message;

  std::string sentence() const { return message + "; the run goes on, and tries to write again"; }
  static void fields(auto& self, auto& field) { field("message", self.message); }
};

/// Keeps what a job reports: on the screen, in the run folder, and the result for the caller. A file that cannot be
/// written ends nothing: it is said when it happens first, and RunFolder::unsaved() says what is missing at the end.
/// threads: one at a time.
class ReportKeeper {
 public:
  /// context: outlives this.
  explicit ReportKeeper(JobContext& context, RunPhase phase = {});

  void take(Report report);
  /// The result of the job, which has ended so. errors: that.
  Result<nlohmann::json> finish(const Status& ended);

 private:
  std::string take_signature();
  void take_other(const Report& report);
  void add_metrics(const nlohmann::json& line);
  void note(const Status& written);

  JobContext& context_;
  const RunPhase phase_;
  ProgressDisplay display_;
  std::optional<NotWritten> warning_;
  nlohmann::json result_;
};

}  // namespace mangrove::cli

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/report.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/sqlite.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::cluster {

/// What a job does, on one line for people, whatever its texts are. REQUIRES that these are UTF-8.
std::string title_of(const JobSpec& job);

/// What a coordinator must remember when it is killed: its jobs, the nodes of each, its last checkpoint, its result. A
/// folder with coordinator.db (SQLite) and, for each job, JOB.checkpoint.safetensors and JOB.onnx where there are such.
/// threads: any thread may call any method.
class JobStore {
 public:
  static constexpr std::int64_t kMostEpochs = 10'000;  // of a job

  /// Makes the folder where there is none. errors: those of Database::open, unimplemented (written by a newer program);
  /// the message names the file.
  static Result<std::unique_ptr<JobStore>> open(const fs::path& folder);

  /// Writes down that a job begins. owner: see Job. REQUIRES: the job's texts are UTF-8.
  Status begin(const std::string& id, const JobSpec& job, const std::string& owner = "");
  Status set_members(const std::string& id, const net::Members& members);
  /// `report` is one of kind "checkpoint".
  Status checkpoint(const std::string& id, const Report& report);
  /// `report` is one of kind "epoch", of this number: that of an epoch which the job made before, and of those behind
  /// it, is forgotten. The last kMostEpochs are kept.
  Status epoch(const std::string& id, std::int64_t number, const Report& report);
  /// It needs not be gone on with: of what it left, the result and its model are kept, the checkpoint makes room for
  /// them. Of jobs that have ended, the last 64 are kept, and the models of the newest, 1 GiB of them. errors: those of
  /// the disk; what can be kept is, and the job does not go on after a restart even if its end could not be written.
  Status end(const std::string& id, const Status& ended, const std::optional<Report>& result);

  struct Interrupted {
    std::string id;
    JobSpec job;            // goes on from its last checkpoint
    std::int64_t starts;    // with this one
    std::size_t nodes = 0;  // that it had last
    std::string owner{};
    std::vector<Report> epochs{};  // that it has told of, in order
  };
  /// The jobs that had not ended when the coordinator did, the oldest first. Each counts as started once more. Those
  /// that cannot be read are left out, with a line in the log.
  ///
  /// A job may be what ends the coordinator. So it fails here, and is not returned, if the coordinator died twice with
  /// it since its last checkpoint, on a machine that stayed up, or if it was started five times and never came to a
  /// checkpoint. Its last checkpoint is then kept as JOB.last.safetensors.
  Result<std::vector<Interrupted>> interrupted();
  /// This job, which has lost all its nodes and begins once more; nothing: it has ended, or fails as above.
  Result<std::optional<Interrupted>> again(const std::string& id);
  /// Writes down that the coordinator ends in good order and goes on with the job later.
  Status suspend(const std::string& id);

  struct Ended {
    Status status;
    std::optional<Report> result;
    std::string owner{};
  };
  /// errors: not_found, failed_precondition (it has not ended).
  Result<Ended> ended(const std::string& id);
  /// All jobs, the newest first. may_read: whether the caller may read the messages of this owner's jobs; other
  /// messages are left empty. A message comes from nodes and may name files and what they hold.
  Result<std::vector<JobStatus>> list(const std::function<bool(const std::string& owner)>& may_read);

 private:
  JobStore(fs::path folder, Database database) : folder_(std::move(folder)), database_(std::move(database)) {}
  /// Why a job begins once more.
  enum class Restart { coordinator_ended, nodes_ended };
  Status prepare() MG_REQUIRES(mutex_);
  Status change_tables(const std::vector<std::string>& changes) MG_REQUIRES(mutex_);
  Status write_end(const std::string& id, const Status& ended, const std::optional<Report>& result) MG_REQUIRES(mutex_);
  Status forget_old() MG_REQUIRES(mutex_);
  /// Why the job must not be started again, if so: see interrupted().
  Result<std::optional<std::string>> why_parked(const std::string& id, std::int64_t starts, Restart why)
      MG_REQUIRES(mutex_);
  Result<std::optional<Interrupted>> take_up(const Database::Row& row, Restart why) MG_REQUIRES(mutex_);
  Status settle_unwritten() MG_REQUIRES(mutex_);
  fs::path checkpoint_path(const std::string& id) const { return folder_ / (id + ".checkpoint.safetensors"); }
  /// An empty file, which a full disk still takes: the job has ended so, and its row could not say it.
  fs::path unwritten_end_path(const std::string& id, const std::string& state) const {
    return folder_ / (id + "." + state);
  }
  /// The state of a job with such a file; "": it has none.
  std::string unwritten_end(const std::string& id) const;
  /// The checkpoint of a job that failed because it may have ended the coordinator.
  fs::path last_checkpoint_path(const std::string& id) const { return folder_ / (id + ".last.safetensors"); }
  fs::path model_path(const std::string& id) const { return folder_ / (id + ".onnx"); }

  const fs::path folder_;
  Mutex mutex_;
  Database database_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::cluster

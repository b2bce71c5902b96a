#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/report.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/enrolment.pb.h"
#include "mangrove/job/frame_queue.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// Gives one frame after the other for a job that asks for them; nothing after the last one, or when it is to stop.
/// It may block, and is called on one thread of its own.
using FrameSource = std::function<std::optional<job::Frame>(const std::stop_token&)>;

/// A program that asks a coordinator to run jobs.
/// threads: any thread may ask questions (from nodes() to replace_authority()) as long as no job is run, followed,
/// submitted or stopped; else one call at a time.
class Client {
 public:
  /// credentials: null for plain text.
  /// errors: unavailable (nobody answers at the address within the timeout; names it and what to start).
  static Result<std::unique_ptr<Client>> connect(const std::string& coordinator,
                                                 std::shared_ptr<const net::Credentials> credentials = nullptr,
                                                 Seconds timeout = 5);
  ~Client();

  const std::string& coordinator() const;  // its address
  Result<std::vector<NodeStatus>> nodes();
  /// The nodes, and the jobs that run or wait. errors: unavailable; cancelled (stop was requested).
  Result<ListNodesResponse> status(const std::stop_token& stop);
  /// The newest first: those that run or wait and, where the coordinator keeps jobs, those that have ended.
  /// errors: unavailable.
  Result<std::vector<JobStatus>> jobs();

  /// The events of a job so far, JSON objects, the oldest first. errors: not_found, permission_denied (it is
  /// another's), unavailable.
  Result<std::vector<std::string>> events(const std::string& job_id);

  /// Has that scheduler take over in this job with tiers, or in the only one that runs where job_id is ""; returns the
  /// job's id. errors: failed_precondition (it does not run, has no tiers, or there are several), invalid_argument
  /// (unknown, or it needs a tier that is not there), unavailable.
  Result<std::string> switch_scheduler(const std::string& scheduler, const std::string& job_id = "");

  /// Asks for a join string; only admins may. ttl: how long the string is valid; uses: how many members may join with
  /// it; name: the new member's name, or "" for the name that it asks for. errors: permission_denied,
  /// failed_precondition (this coordinator signs no certificates), invalid_argument, unavailable.
  Result<InviteResponse> invite(const InviteRequest& invitation);
  /// The members, revoked members and open invitations; only admins may ask. errors: those of invite().
  Result<std::vector<MemberStatus>> members();
  /// Revokes a member, or withdraws an invitation; only admins may. name: the member's name, or the id of the
  /// invitation. errors: those of invite(); not_found.
  Status revoke(const std::string& name);
  /// Replaces the authority that signs, see Registrar::replace_authority(); only admins may. errors: those of invite();
  /// failed_precondition.
  Result<ReplaceAuthorityResponse> replace_authority();

  /// Runs a job to its end, handing on its reports. With credentials, its networks are signed first. When `stop` is
  /// requested the job is asked to end in good order, and its reports (a last checkpoint) still come. A coordinator
  /// that keeps its jobs and is gone is waited for, for ten minutes; then the job's reports go on, with events
  /// "coordinator_lost" and "coordinator_back" between them. errors: what the job ended with; cancelled (stopped);
  /// unavailable (the coordinator is gone).
  Status run(const JobSpec& job, const Reporter& report, std::stop_token stop, FrameSource frames = {});
  /// Hands on the reports of a job that this client or another one sent before, until it ends. If the job has
  /// ended, hands on its result. When `detach` is requested the client follows the job no longer, and it goes on.
  /// errors: those of run(); not_found; permission_denied (it is another's).
  /// from_beginning: first the epochs and events that the job has told before, without networks; they come again where
  /// the coordinator was lost meanwhile.
  Status follow(const std::string& job_id, const Reporter& report, std::stop_token detach, bool from_beginning = false);
  /// Sends a job that goes on without a client, and returns its id. errors: those of run() before the job begins;
  /// failed_precondition (the coordinator keeps no jobs, so that they end with their clients).
  Result<std::string> submit(const JobSpec& job, const std::stop_token& stop);
  /// Whether the coordinator has told the end of the job that was run or followed last: else what run() or follow()
  /// has returned is about the connection, and the job may go on.
  bool has_told_end() const;
  /// Asks the job, whichever client of this member began it, to end in good order, waits until it has, and returns how
  /// it ended, for people. When `detach` is requested the end is waited for no longer. errors: not_found;
  /// permission_denied (it is another's); failed_precondition (it had ended before); cancelled (detached); unavailable
  /// (the coordinator is gone).
  Result<std::string> stop_job(const std::string& job_id, std::stop_token detach);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::cluster

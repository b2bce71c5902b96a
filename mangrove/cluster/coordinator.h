#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/job_checks.h"
#include "mangrove/cluster/registrar.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:7070";                  // port 0 takes a free one
  std::shared_ptr<const net::Credentials> credentials{};  // null: plain text
  Registrar* registrar = nullptr;  // signs certificates, outlives the coordinator; null: this one signs none
  bool insecure = false;           // plain text is allowed on any address
  bool announces = false;          // itself on the local network, if it has credentials and others reach its address
  Bytes max_model = 0;             // longest model, checkpoint or message of a job; 0: see longest_by_memory()
  Seconds heartbeat_interval = 0.5;
  int heartbeat_misses = 6;      // a node silent for so many intervals is lost
  data::DataFolder data_folder;  // where rank 0 finds the data that it gives to workers
  fs::path state_folder;         // of its JobStore and audit log; empty: nothing is kept, its jobs end with it
  JobCheck check = check_job;    // which jobs are taken
  RoleMain play = run_role;      // what a role does
};

/// The one process of a cluster that knows its members, and where rank 0 of each job runs. With a state folder, the
/// jobs that were running when it was killed go on from their last checkpoints when it is started again.
///
/// threads: any thread may call any method.
class Coordinator {
 public:
  /// errors: already_exists (port in use; names it), invalid_argument (an address that cannot be parsed),
  /// failed_precondition (plain text on an address that others reach), those of JobStore::open.
  static Result<std::unique_ptr<Coordinator>> start(const CoordinatorOptions& options);
  ~Coordinator();

  /// HOST:PORT with the port really taken; the host is a reachable one (not 0.0.0.0).
  std::string address() const;
  /// How many nodes are alive.
  std::int64_t nodes() const;
  /// Stops the running jobs in good order (their clients get the checkpoints), tells the nodes, closes the port.
  void shutdown();

 private:
  struct Impl;
  explicit Coordinator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::cluster

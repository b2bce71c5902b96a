#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

struct NodeOptions {
  std::string coordinator = "127.0.0.1:7070";
  std::string name;                                       // "" takes the host's name
  std::string listen = "127.0.0.1:0";                     // where peers reach this node; port 0 takes a free one
  std::shared_ptr<const net::Credentials> credentials{};  // null: plain text
  bool insecure = false;                                  // plain text is allowed on any address
  bool searches = false;  // looks for the coordinator on the local network where it does not answer; with credentials
  int threads = 0;        // for kernels; 0 takes all cores
  std::vector<std::string> labels{};  // that jobs may ask for; see check_labels()
  data::DataFolder data_folder;
  Seconds join_timeout = 10;  // how long an unreachable coordinator is tried
  // how long a lost coordinator is tried; nothing: until the certificate expires, or for 600 s in plain text
  std::optional<Seconds> rejoin_timeout{};
  RoleMain play = run_role;  // what a role does
};

/// One per device: joins a coordinator, reports resources, runs the roles that jobs give it. A node that was declared
/// lost (it was frozen, or its link was cut) ends its role and joins again, and so does one whose coordinator was lost.
/// threads: any thread may call any method.
class Node {
 public:
  /// Returns when it has joined. errors: those of check_labels(), unavailable (coordinator not reachable within
  /// join_timeout; names the address), already_exists (port in use), failed_precondition (plain text on an address that
  /// others reach), permission_denied (the coordinator refuses this node).
  static Result<std::unique_ptr<Node>> start(const NodeOptions& options);
  ~Node();

  std::string name() const;  // as the coordinator knows it
  std::string address() const;
  std::string coordinator() const;  // HOST:PORT of the one that it has joined
  bool is_joined() const;           // false while its coordinator is away
  /// Returns when stop is requested. errors: unavailable (the coordinator was away for longer than rejoin_timeout),
  /// permission_denied (it refuses this node now).
  Status wait(const std::stop_token& stop);
  /// Ends its role, says goodbye, closes the port.
  void shutdown();

 private:
  struct Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::cluster

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/job/worker_loop.h"

namespace mangrove::infer {

/// What all kinds of inference nodes share: the orders of a job::WorkerLoop are commands. A kind of node derives from
/// it, describes its data, and follows commands.
class WorkerRole : public job::WorkerLoop {
 protected:
  /// from_peers: see WorkerLoop.
  WorkerRole(const InferJob& job, job::RoleContext& context, std::vector<net::Tag> from_peers = {});
  ~WorkerRole() = default;

  /// Describes the data. Called only after the node is prepared.
  virtual void describe(Hello& hello) const = 0;
  /// Follows a command other than PING and END. errors: the node cannot take part any more.
  virtual Status handle(Command command) = 0;

  /// Commands that come meanwhile are followed afterwards. errors: those of NetworkFetch::get.
  Result<std::string> fetch_network(const std::string& sha256);
  /// Fetches the elements of one tensor in the same way. errors: those of NetworkFetch::get_weights.
  Result<std::string> fetch_weights(const std::string& sha256);
  void send(const FromNode& message) const;

  const InferJob job_;  // without its networks

 private:
  void say_hello(const Status& status) final;
  Order read(const net::Message& message) final;
  std::optional<net::Message> next_postponed() final;

  NetworkFetch fetch_;
};

}  // namespace mangrove::infer

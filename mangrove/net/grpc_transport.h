#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "mangrove/base/units.h"
#include "mangrove/net/credentials.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/net/refused.h"
#include "mangrove/net/subjects.h"

namespace grpc {
class Service;
}

namespace mangrove::net {

/// Longest payload of one message; a longer one is dropped with an error in the log. The gRPC server must take messages
/// that are 64 KiB longer (ServerBuilder::SetMaxReceiveMessageSize).
constexpr Bytes kLongestPayload = GiB(1) - KiB(64);

/// Carries the messages of all jobs of one process over gRPC: one service on the process's port, one outgoing stream
/// per peer process, opened when first needed and again after a break. threads: any thread may call any method.
class GrpcTransport {
 public:
  /// clock: of the Deadlines of its endpoints. credentials: null for links in plain text. With credentials, which the
  /// server of this process must have too, messages are taken only from nodes and coordinators of the same cluster.
  explicit GrpcTransport(std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>(),
                         std::shared_ptr<const Credentials> credentials = nullptr);
  ~GrpcTransport();  // every endpoint must be gone

  /// To be registered with the process's gRPC server before it starts (see cluster).
  grpc::Service& service();

  /// Joins a job as `rank`. `addresses[r]` is the HOST:PORT of the process that holds rank r; ranks of this process
  /// (several may be) are reached without the network when their address equals `own_address`.
  /// Messages that came before the endpoint was made are kept for it for 30 s, up to 128 MiB for a job.
  /// Traffic counts payload and envelope, for the ranks of this process only the payload.
  /// subjects: only used with credentials. Messages of a rank are then taken from, and sent to, its subject alone. For
  /// a rank without a subject, messages are taken from nobody, and sent to any node or coordinator at its address.
  /// errors: already_exists (this process holds that rank of that job already); invalid_argument (a rank that is alive
  /// has no address, or members are not ranks 0 .. P-1); cancelled (after shutdown()).
  Result<std::unique_ptr<Endpoint>> join(const std::string& job, Rank rank, std::map<Rank, std::string> addresses,
                                         const std::string& own_address, Members members, Subjects subjects = {});
  /// The failure detector's news for every endpoint of this job in this process. Members may be more than before, with
  /// new ranks behind the old ones: `addresses` says where those are, and `subjects` who speaks for them; news of a new
  /// rank without an address is ignored.
  void set_members(const std::string& job, const Members& members, const std::map<Rank, std::string>& addresses = {},
                   const Subjects& subjects = {});
  /// Takes no more messages from peers whose certificates, which are revoked, have these serials, neither on open
  /// streams nor on new ones.
  void refuse(const std::set<std::string>& serials);
  /// Hears what is refused of peers from now on. To be called before the server starts.
  void on_refused(OnRefused listener);
  /// Sets the longest payload, if the processes of this cluster take less than kLongestPayload.
  void set_longest_payload(Bytes bytes);
  /// Stops sending and receiving: outgoing streams are closed after at most `grace` spent on what is queued. Peers that
  /// do not answer cannot make it last longer. To be called before the server's shutdown.
  void shutdown(Seconds grace);

  struct Impl;  // of grpc_transport.cc

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::net

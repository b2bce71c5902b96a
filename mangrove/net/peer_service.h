#pragma once

#include <memory>
#include <set>
#include <string>

#include "mangrove/identity/wall_time.h"
#include "mangrove/net/local_endpoints.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::net {

struct InboundTable;

/// The receiving side of all links that lead to this process.
/// threads: any thread may call any method.
class PeerService final : public Peer::CallbackService {
 public:
  /// asks_who: takes streams from callers alone whose certificate says that they are a node or a coordinator, and of
  /// their messages those of ranks that are theirs (see Subjects).
  PeerService(std::shared_ptr<LocalEndpoints> jobs, bool asks_who);
  ~PeerService() override;

  grpc::ServerBidiReactor<Envelope, Receipt>* Exchange(grpc::CallbackServerContext* context) override;
  /// Cuts the streams of certificates with these serials, and takes none from them any more.
  void refuse(const std::set<std::string>& serials);
  /// Cuts the streams of certificates that have expired: they were good when the connection was made.
  void cut_expired(identity::WallTime now);
  /// Cancels all streams, and every one that comes later.
  void shutdown();

 private:
  const std::shared_ptr<LocalEndpoints> jobs_;
  const bool asks_who_;
  const std::shared_ptr<InboundTable> inbound_;  // streams may end later
};

}  // namespace mangrove::net

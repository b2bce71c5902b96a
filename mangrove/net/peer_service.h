#pragma once

#include <memory>

#include "mangrove/net/local_endpoints.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::net {

struct InboundTable;

/// The receiving side of all links that lead to this process.
/// threads: any thread may call any method.
class PeerService final : public Peer::CallbackService {
 public:
  explicit PeerService(std::shared_ptr<LocalEndpoints> jobs);
  ~PeerService() override;

  grpc::ServerBidiReactor<Envelope, Receipt>* Exchange(grpc::CallbackServerContext* context) override;
  /// Cancels all streams, and every one that comes later.
  void shutdown();

 private:
  const std::shared_ptr<LocalEndpoints> jobs_;
  const std::shared_ptr<InboundTable> inbound_;  // streams may end later
};

}  // namespace mangrove::net

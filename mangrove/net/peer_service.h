#pragma once

#include <memory>

#include "mangrove/net/job_table.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::net {

struct InboundTable;

/// The receiving side of all links that lead to this process.
/// threads: any thread may call any method.
class PeerService final : public Peer::CallbackService {
 public:
  explicit PeerService(std::shared_ptr<JobTable> jobs);
  ~PeerService() override;

  grpc::ServerBidiReactor<Envelope, Receipt>* Exchange(grpc::CallbackServerContext* context) override;
  /// Cancels all streams, and every one that comes later.
  void shutdown();

 private:
  const std::shared_ptr<JobTable> jobs_;
  const std::shared_ptr<InboundTable> inbound_;  // streams may end later
};

}  // namespace mangrove::net

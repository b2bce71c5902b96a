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
  /// asks_who: takes streams only from nodes and coordinators, as their certificates say, and only messages of ranks
  /// for which the certificate's subject speaks (see Subjects). False: links are in plain text, and everybody may send.
  PeerService(std::shared_ptr<LocalEndpoints> jobs, bool asks_who);
  ~PeerService() override;

  grpc::ServerBidiReactor<Envelope, Receipt>* Exchange(grpc::CallbackServerContext* context) override;
  /// Cuts the streams of peers whose certificates have these serials, and takes no more streams from them.
  void refuse(const std::set<std::string>& serials);
  /// Cuts the streams of peers whose certificates have expired since the connection was made.
  void cut_expired(identity::WallTime now);
  /// Cancels all streams, and every one that comes later.
  void shutdown();

 private:
  const std::shared_ptr<LocalEndpoints> jobs_;
  const bool asks_who_;
  const std::shared_ptr<InboundTable> inbound_;  // streams may end later
};

}  // namespace mangrove::net

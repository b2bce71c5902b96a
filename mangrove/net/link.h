#pragma once

#include <map>
#include <memory>
#include <string>

#include "mangrove/base/mutex.h"
#include "mangrove/net/peer.grpc.pb.h"
#include "mangrove/net/send_queue.h"

namespace mangrove::net {

class PeerStream;

/// How far the present stream of a link is.
struct StreamState {
  bool opening = false;      // by the thread of PeerLinks
  bool broken = false;       // nothing more gets through
  bool held = true;          // gRPC waits for us before it ends the stream
  bool half_closed = false;  // we said that nothing more comes
  bool to_cancel = false;    // what is being written is not wanted any more
  bool cancelled = false;
  bool ended = false;                         // gRPC is done with it
  std::shared_ptr<const Outgoing> in_flight;  // being written
  std::string error;                          // why it ended
};

/// The way to one peer process, whatever happens to its streams.
struct Link {
  std::string address;               // HOST:PORT
  std::string id;                    // as in peer.proto
  std::unique_ptr<Peer::Stub> stub;  // holds the channel
  int users = 0;                     // endpoints that may send over it
  SendQueue queue;
  std::shared_ptr<PeerStream> stream;  // null: none is open
  StreamState state;                   // of that stream
  Instant retry_at;                    // no new stream before
  Seconds backoff = 0;
  Instant last_progress;  // when something got through, or the last user left
};

/// The links of one process. The streams share it with PeerLinks, because gRPC may end them later.
struct LinkTable {
  Mutex mutex;
  Condition changed;                                       // something happened to a link
  std::map<std::string, Link> links MG_GUARDED_BY(mutex);  // by address
  const SteadyClock clock;
};

/// One outgoing stream. gRPC calls the On... methods from its own threads; they only note what happened, for the thread
/// of PeerLinks, which starts every operation but the next read.
class PeerStream final : public grpc::ClientBidiReactor<Envelope, Receipt> {
 public:
  /// Opens it; it lives until gRPC is done with it, and as long as someone holds it.
  /// REQUIRES: the link stays in its table until the stream has ended; the table's mutex is not held.
  static std::shared_ptr<PeerStream> open(std::shared_ptr<LinkTable> table, Link& link);

  void cancel() { context_.TryCancel(); }

 private:
  PeerStream(std::shared_ptr<LinkTable> table, Link& link);
  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::shared_ptr<LinkTable> table_;
  Link& link_;  // in the table
  grpc::ClientContext context_;
  Receipt receipt_;
  std::shared_ptr<PeerStream> self_;  // until gRPC is done with it
};

}  // namespace mangrove::net

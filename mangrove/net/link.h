#pragma once

#include <compare>
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
  bool broken = false;       // nothing more gets through
  bool held = true;          // gRPC waits for us before it ends the stream
  bool half_closed = false;  // we said that nothing more comes
  bool to_cancel = false;    // what is being written is not wanted any more
  bool cancelled = false;
  bool ended = false;                         // gRPC is done with it
  bool refused = false;                       // by the peer, because of our certificate
  std::shared_ptr<const Outgoing> in_flight;  // being written
  std::string error;                          // why it ended
};

/// A peer process: its address, and the certificate that it must show. Another process at the address gets nothing.
struct Destination {
  std::string address;  // HOST:PORT
  std::string subject;  // URI in its certificate; "": any node or coordinator of the cluster

  auto operator<=>(const Destination&) const = default;
};

/// The way to one peer process, whatever happens to its streams.
struct Link {
  Destination to;
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
  Condition changed;  // something happened to a link
  std::map<Destination, Link> links MG_GUARDED_BY(mutex);
  const SteadyClock clock{};
};

/// One outgoing stream. gRPC calls the On... methods from its own threads; they only note what happened, for the thread
/// of PeerLinks, which starts every operation but the next read.
///
/// It holds the channel, and must not be freed by a thread of gRPC: the last channel of the process joins these
/// threads.
class PeerStream final : public grpc::ClientBidiReactor<Envelope, Receipt> {
 public:
  PeerStream(std::shared_ptr<LinkTable> table, Link& link);

  /// REQUIRES: this and the link in its table live until the stream has ended; the table's mutex is not held.
  void open();
  void cancel() { context_.TryCancel(); }
  /// Gives up waiting for the end: `self` is never freed.
  void abandon(std::shared_ptr<PeerStream> self) { self_ = std::move(self); }

 private:
  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::shared_ptr<LinkTable> table_;
  Link& link_;  // in the table
  grpc::ClientContext context_;
  Receipt receipt_;
  std::shared_ptr<PeerStream> self_;
};

}  // namespace mangrove::net

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/net/credentials.h"
#include "mangrove/net/link.h"

namespace mangrove::net {

/// All links of one process. One thread starts every write of every link and none of its steps blocks, so a peer that
/// is slow or frozen delays nobody else. threads: any thread may call any method.
class PeerLinks {
 public:
  /// `each_second` is called by the thread about once a second. credentials: null for plain text.
  PeerLinks(std::function<void()> each_second, std::shared_ptr<const Credentials> credentials);
  ~PeerLinks();

  /// An endpoint that may send to this process comes, or goes. A link that nobody uses is closed when nothing has got
  /// through for half a minute.
  void add_user(const Destination& to);
  void remove_user(const Destination& to);
  /// Queues the message. It is dropped after shutdown(), and if its rank is gone. REQUIRES: it has a user.
  void send(const Destination& to, std::unique_ptr<Outgoing> message);
  /// See Endpoint::queued_bytes(). REQUIRES: it has a user.
  Bytes queued_bytes(const Destination& to, const std::string& job, Rank rank, Tag tag) const;
  /// The rank is gone: frees what waits for it.
  void drop(const Destination& to, const std::string& job, Rank rank);
  /// Spends up to `grace` on what is queued, then closes all streams.
  void shutdown(Seconds grace);

 private:
  enum class Phase { running, draining, aborting };
  enum class Action { open, write, half_close, release, cancel };
  struct Step {
    Action action;
    std::shared_ptr<PeerStream> stream;
    std::shared_ptr<const Outgoing> in_flight;  // if it is a write
  };

  void run(const std::stop_token& stop);
  /// What can be done now. Moves links that nobody uses any more to `unused`.
  std::vector<Step> plan(std::vector<Link>& unused) MG_REQUIRES(table_->mutex);
  std::optional<Step> plan(Link& link, Instant now) MG_REQUIRES(table_->mutex);
  std::optional<Step> plan_open_stream(Link& link, Instant now) MG_REQUIRES(table_->mutex);
  void collect(Link& link, Instant now) MG_REQUIRES(table_->mutex);
  void perform(const Step& step) MG_EXCLUDES(table_->mutex);
  /// How long the thread may sleep if nothing happens.
  Seconds idle_time(Instant now) const MG_REQUIRES(table_->mutex);
  bool wait_closed(Seconds limit) MG_REQUIRES(table_->mutex);

  const std::function<void()> each_second_;
  const std::shared_ptr<const Credentials> credentials_;
  const std::shared_ptr<LinkTable> table_;
  Phase phase_ MG_GUARDED_BY(table_->mutex) = Phase::running;
  std::jthread thread_;
};

}  // namespace mangrove::net

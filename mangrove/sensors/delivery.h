#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/sensors/link.h"
#include "mangrove/sensors/outbox.h"

namespace mangrove::sensors {

/// Brings letters to their sinks: each is kept until its sink has confirmed it, on disk if there is an offline buffer.
/// Where the disk fails, that is told, and letters wait in memory.
/// threads: one at a time.
class Delivery {
 public:
  /// disk: null: letters wait in memory, within `memory`.
  Delivery(std::unique_ptr<DiskOutbox> disk, Bytes memory);

  void add_sink(const std::string& name, Link* link) { sinks_[name].link = link; }
  /// seen: ids of messages that are done with these letters.
  void put(const std::vector<Letter>& letters, const std::vector<std::string>& seen, Instant now);
  /// Sends what may be sent now. receipts: what links have told since the last call.
  void pump(const std::vector<Receipt>& receipts, Instant now);
  bool has_seen(const std::string& id, Instant now);
  /// "17-3f9a12c4": no other message of this board or another one has it.
  std::string next_id(Instant now);

  std::uint64_t sent() const { return sent_; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t unsent() const;
  std::uint64_t waiting() const;
  std::uint64_t disk_errors() const { return disk_errors_; }
  /// Letters that were sent and are not confirmed yet.
  std::int64_t in_flight() const;

 private:
  struct Place {                      // of a sink in an outbox
    std::int64_t last = 0;            // the number of the letter that was sent last
    bool has_more = true;             // perhaps
    std::set<std::int64_t> returned;  // numbers of letters that are sent again
  };
  struct Sink {
    Link* link = nullptr;
    std::int64_t in_flight = 0;
    Instant again{-1e9};  // not before this moment is anything sent, since a letter was returned
    std::map<const Outbox*, Place> places;
  };
  std::vector<Outbox*> outboxes() const;
  std::uint64_t token_of(const Outbox& outbox, std::int64_t number) const;
  void forget(const std::vector<std::uint64_t>& tokens, Instant now);
  void send_again(const std::vector<std::uint64_t>& tokens, Instant now);
  void send_from(Outbox& outbox, const std::string& name, Sink& sink, Instant now);
  /// The letters that are sent next: those that were returned, or else those behind the last one.
  Result<std::vector<Letter>> next_letters(Outbox& outbox, const std::string& name, Place& place, std::int64_t room);
  void disk_failed(const Error& error, Instant now);

  std::unique_ptr<DiskOutbox> disk_;  // null: there is no offline buffer
  std::unique_ptr<Outbox> memory_;
  std::map<std::string, Sink> sinks_;
  std::map<std::uint64_t, Sink*> sink_of_token_;  // in flight
  std::vector<std::int64_t> not_removed_;         // numbers that the disk did not remove: once more
  std::string origin_;
  std::int64_t last_number_ = 0;  // without a disk
  std::uint64_t sent_ = 0, refused_ = 0, disk_errors_ = 0;
  Instant told_{-1e9};
};

}  // namespace mangrove::sensors

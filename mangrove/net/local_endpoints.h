#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "mangrove/base/mutex.h"
#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/net/mailbox.h"
#include "mangrove/net/refused.h"
#include "mangrove/net/subjects.h"
#include "mangrove/net/traffic_meter.h"
#include "mangrove/net/waiting_room.h"

namespace mangrove::net {

/// A rank that this process holds.
struct LocalRank {
  LocalRank(Rank rank, Members members, std::shared_ptr<const Clock> clock, std::shared_ptr<WaitingRoom> room)
      : mailbox(rank, std::make_shared<const Members>(std::move(members)), std::move(clock), std::move(room)) {}

  Mailbox mailbox;
  TrafficMeter meter;
};

/// How much is kept for ranks that have not joined yet.
struct ParkingLimits {
  Seconds time = 30;
  Bytes job_bytes = MiB(128);
  Bytes sender_bytes = MiB(128);  // of one sender, if links have certificates
  Bytes total_bytes = MiB(256);
};

/// The ranks of all jobs that this process holds, and messages that came before their rank has joined. The bytes of
/// waiting messages are bounded: messages that come when there is no room are dropped, with a line in the log.
/// threads: any thread may call any method.
class LocalEndpoints {
 public:
  explicit LocalEndpoints(ParkingLimits limits = {},
                          std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>(),
                          std::shared_ptr<WaitingRoom> room = WaitingRoom::of_this_process())
      : limits_(limits), clock_(std::move(clock)), room_(std::move(room)) {}

  /// Takes over the messages that wait for it. errors: already_exists.
  Result<std::shared_ptr<LocalRank>> join(const std::string& job, Rank rank, Members members, Subjects subjects = {});
  void leave(const std::string& job, Rank rank);
  /// subjects: those of new ranks; a rank that has a subject keeps it.
  void set_members(const std::string& job, const Members& members, const Subjects& subjects = {});

  /// Puts a message into the mailbox of its rank, or keeps it for a rank that may join soon. `bytes` is its size for
  /// the counters. sender: the URI in the sender's certificate; nothing: links are in plain text. Messages from ranks
  /// that the job does not have, or for which another subject speaks, are dropped.
  void deliver(const std::string& job, Rank to, Message message, std::size_t bytes,
               std::optional<std::string> sender = std::nullopt);
  /// Hears of each message that is dropped for lack of room or because its rank is another's, and of what refuse() is
  /// called with. To be called before messages come.
  void on_refused(OnRefused listener) { on_refused_ = std::move(listener); }
  void refuse(Refused what) const { on_refused_(what); }
  /// Forgets messages that nobody came for. To be called now and then.
  void expire();

 private:
  using Key = std::pair<std::string, Rank>;
  struct Parcel {
    Message message;
    std::size_t bytes;
    std::optional<std::string> sender;
  };
  struct Parked {
    Key to;
    Parcel parcel;
    Instant came;
  };

  struct Held {
    std::shared_ptr<LocalRank> local;
    Subjects subjects;
    std::set<Rank> refused = {};  // senders of whom too much waits unread, which is logged once for each
  };

  void hand_over(const Key& key, Held& held, Parcel parcel) MG_REQUIRES(mutex_);
  void park(const Key& key, Parcel parcel) MG_REQUIRES(mutex_);
  void expire_locked() MG_REQUIRES(mutex_);
  void forget_bytes(const Parked& parked) MG_REQUIRES(mutex_);

  const ParkingLimits limits_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<WaitingRoom> room_;
  OnRefused on_refused_ = [](Refused) {};
  Mutex mutex_;  // before that of a mailbox
  std::map<Key, Held> ranks_ MG_GUARDED_BY(mutex_);
  std::deque<Parked> parked_ MG_GUARDED_BY(mutex_);  // oldest first
  std::map<std::string, Bytes> parked_job_bytes_ MG_GUARDED_BY(mutex_);
  std::map<std::string, Bytes> parked_sender_bytes_ MG_GUARDED_BY(mutex_);  // by subject; "": links in plain text
  Bytes parked_total_bytes_ MG_GUARDED_BY(mutex_) = 0;
};

}  // namespace mangrove::net

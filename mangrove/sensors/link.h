#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/sensors/message_queue.h"
#include "mangrove/sensors/source_options.h"

namespace mangrove::sensors {

/// What has become of something that Link::send() took.
enum class Fate {
  confirmed,  // the other side has it
  returned,   // it has not gone out, or the other side cannot take it now: it is to be sent again
  refused,    // the other side will never take it
};
struct Receipt {
  std::uint64_t token = 0;  // what send() got with it
  Fate fate = Fate::confirmed;
};

/// What a link tells the service. Called on threads of the link; must not block.
struct LinkEvents {
  std::function<void(Message)> came;
  std::function<void(Receipt)> receipt;  // once for each token that send() took
  std::function<void()> repeated;        // something came once more, and was left out
  std::function<void()> unsubscribed;    // the other side refuses the subscription
  std::function<void()> changed;         // is_connected() says something else now
  std::function<Seconds()> wall_clock;   // since 1970
};

/// A connection to where messages come from and perhaps answers go to.
/// threads: any thread may call any method.
class Link {
 public:
  /// Ends it: no event is told any more when this returns.
  virtual ~Link() = default;
  virtual bool is_connected() const = 0;
  /// Times that it was lost and came back.
  virtual std::uint64_t reconnects() const = 0;
  /// Sends without waiting; LinkEvents::receipt tells what has become of it, perhaps after a reconnection.
  /// errors: unavailable (there is no connection), invalid_argument (never: repeat it not), unimplemented (no sink).
  virtual Status send(std::uint64_t token, const std::string& topic, std::string_view payload) = 0;
};

/// A kind of link. The row says all that others need to know.
struct LinkKind {
  const char* name;
  const char* help;
  bool is_sink;  // answers can be sent there
  void (*add_keys)(Keys& keys, LinkOptions& options);
  /// errors: invalid_argument.
  Status (*check)(const SourceOptions& options);
  /// Starts it. It goes on trying to connect until it ends. errors: invalid_argument, permission_denied, not_found
  /// (files), unavailable (an address that is taken).
  Result<std::unique_ptr<Link>> (*start)(const SourceOptions& options, const std::string& default_client_id,
                                         LinkEvents events);
};

}  // namespace mangrove::sensors

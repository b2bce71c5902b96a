#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "mangrove/base/random.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::testbed {

/// What happens to the frames of one direction.
struct LineFaults {
  Seconds delay = 0;
  Seconds jitter = 0;  // uniform within delay -+ jitter, never below 0
  double loss = 0;     // share of the frames
};

/// When each frame of one direction arrives, if it does. Frames stay in order: one that would overtake arrives with the
/// one before it.
class LineModel {
 public:
  LineModel(const LineFaults& faults, std::uint64_t seed) : faults_(faults), random_(seed) {}

  /// Of a frame sent at `now`, both in seconds of one clock; negative: it is lost.
  Seconds arrival(Seconds now);

 private:
  LineFaults faults_;
  Random random_;
  Seconds last_ = 0;
};

/// A file descriptor that is closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// A network device of type TAP, made with this name in this process's network namespace: what the system sends
/// through it is read from the descriptor frame by frame, what is written arrives. It goes with the descriptor.
/// errors: permission_denied, unavailable (no /dev/net/tun, the name is taken).
Result<Descriptor> open_tap(const std::string& name);

/// A line between two devices with delay, jitter and loss in each direction: what `tc netem` does, where the kernel has
/// none. Each read gives a frame, each write takes one (TAP devices, sockets that keep boundaries). One thread moves
/// them; a direction with more than 32 MB on its way loses what comes.
class Relay {
 public:
  /// errors: resource_exhausted (no more descriptors).
  static Result<std::unique_ptr<Relay>> create(Descriptor a, Descriptor b, const LineFaults& faults,
                                               std::uint64_t seed);
  ~Relay();

 private:
  Relay(Descriptor a, Descriptor b, Descriptor wake, const LineFaults& faults, std::uint64_t seed);
  void run(const std::stop_token& stop);

  Descriptor a_, b_;
  Descriptor wake_;  // readable: the end
  LineModel to_b_, to_a_;
  std::jthread thread_;
};

}  // namespace mangrove::testbed

#include "mangrove/testbed/relay.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

#include "mangrove/base/clock.h"

namespace mangrove::testbed {
namespace {

constexpr std::size_t kLargestFrame = 65536;
constexpr std::size_t kMostOnTheWay = 32'000'000;  // bytes: 0.25 s of 1 Gbit/s
constexpr int kFramesAtOnce = 64;                  // of one direction, before the other has its turn
constexpr int kNiceness = -15;  // a late wake-up is a longer delay; boards on busy cores must not cause one

/// The frames on their way in one direction.
class Lane {
 public:
  Lane(int from, int to, LineModel& model) : from_(from), to_(to), model_(model) {}

  int from() const { return from_; }

  void take(const Clock& clock) {
    for (int i = 0; i < kFramesAtOnce; ++i) {
      const ssize_t got = read(from_, buffer_.data(), buffer_.size());
      if (got <= 0) return;
      const Seconds arrival = model_.arrival(clock.now().seconds);
      const auto size = static_cast<std::size_t>(got);
      if (arrival < 0 || bytes_ + size > kMostOnTheWay) continue;
      bytes_ += size;
      frames_.push_back({arrival, {buffer_.data(), buffer_.data() + size}});
    }
  }
  /// A device that takes no frame now (it is down, its queue is full) loses it.
  void deliver(Seconds now) {
    while (!frames_.empty() && frames_.front().arrival <= now) {
      const std::vector<char>& bytes = frames_.front().bytes;
      (void)!write(to_, bytes.data(), bytes.size());
      bytes_ -= bytes.size();
      frames_.pop_front();
    }
  }
  Seconds next() const { return frames_.empty() ? Instant::never().seconds : frames_.front().arrival; }

 private:
  struct Frame {
    Seconds arrival;
    std::vector<char> bytes;
  };
  const int from_, to_;
  LineModel& model_;
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
  std::array<char, kLargestFrame> buffer_;
};

/// Until `wait` has passed or something can be read.
void wait_for(std::array<pollfd, 3>& entries, Seconds wait) {
  timespec time{};
  const bool bounded = std::isfinite(wait);
  if (bounded) {
    wait = std::max(wait, 0.0);
    time.tv_sec = static_cast<time_t>(wait);
    time.tv_nsec = static_cast<long>((wait - std::floor(wait)) * 1e9);
  }
  ppoll(entries.data(), entries.size(), bounded ? &time : nullptr, nullptr);
}

}  // namespace

Seconds LineModel::arrival(Seconds now) {
  if (faults_.loss > 0 && random_.uniform() < faults_.loss) return -1;
  const Seconds shift = faults_.jitter > 0 ? random_.uniform(-faults_.jitter, faults_.jitter) : 0;
  last_ = std::max(last_, now + std::max(faults_.delay + shift, 0.0));
  return last_;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<Descriptor> open_tap(const std::string& name) {
  constexpr const char* kDevice = "/dev/net/tun";
  const auto failure = [](const std::string& what) {
    return make_error(errno == EACCES || errno == EPERM ? Code::permission_denied : Code::unavailable,
                      what + ": " + std::strerror(errno));
  };
  Descriptor device(open(kDevice, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (device.get() < 0) return failure(kDevice);
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (name.size() >= sizeof request.ifr_name)
    return make_error(Code::invalid_argument, "'" + name + "' is too long for a network device");
  std::copy(name.begin(), name.end(), request.ifr_name);
  if (ioctl(device.get(), TUNSETIFF, &request) != 0) return failure(std::string(kDevice) + ": device " + name);
  return device;
}

Result<std::unique_ptr<Relay>> Relay::create(Descriptor a, Descriptor b, const LineFaults& faults, std::uint64_t seed) {
  Descriptor wake(eventfd(0, EFD_CLOEXEC));
  if (wake.get() < 0) return make_error(Code::resource_exhausted, std::string("eventfd: ") + std::strerror(errno));
  return std::unique_ptr<Relay>(new Relay(std::move(a), std::move(b), std::move(wake), faults, seed));
}

Relay::Relay(Descriptor a, Descriptor b, Descriptor wake, const LineFaults& faults, std::uint64_t seed)
    : a_(std::move(a)),
      b_(std::move(b)),
      wake_(std::move(wake)),
      to_b_(faults, Random(seed).fork(0).next()),
      to_a_(faults, Random(seed).fork(1).next()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Relay::~Relay() {
  thread_.request_stop();
  eventfd_write(wake_.get(), 1);
}

void Relay::run(const std::stop_token& stop) {
  setpriority(PRIO_PROCESS, 0, kNiceness);  // of this thread; as it is where that is not allowed
  const SteadyClock clock;
  Lane to_b(a_.get(), b_.get(), to_b_), to_a(b_.get(), a_.get(), to_a_);
  while (!stop.stop_requested()) {
    std::array<pollfd, 3> entries{pollfd{to_b.from(), POLLIN, 0}, pollfd{to_a.from(), POLLIN, 0},
                                  pollfd{wake_.get(), POLLIN, 0}};
    wait_for(entries, std::min(to_b.next(), to_a.next()) - clock.now().seconds);
    // an end that hangs up is not asked again and again: the line waits for its own end
    if (((entries[0].revents | entries[1].revents) & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
      std::array<pollfd, 3> end{pollfd{-1, 0, 0}, pollfd{-1, 0, 0}, pollfd{wake_.get(), POLLIN, 0}};
      wait_for(end, Instant::never().seconds);
      return;
    }
    if (entries[0].revents != 0) to_b.take(clock);
    if (entries[1].revents != 0) to_a.take(clock);
    const Seconds now = clock.now().seconds;
    to_b.deliver(now);
    to_a.deliver(now);
  }
}

}  // namespace mangrove::testbed

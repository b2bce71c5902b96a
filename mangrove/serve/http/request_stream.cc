#include "mangrove/serve/http/request_stream.h"

#include <algorithm>
#include <cstring>

namespace mangrove::serve {
namespace {

constexpr std::size_t kMostUnsent = 16384;  // what is shorter goes out with what follows it

}  // namespace

bool RequestStream::fill(Deadline deadline) {
  const Result<std::size_t> got = connection_.read(buffer_, deadline);
  begin_ = 0;
  end_ = got.ok() ? *got : 0;
  if (end_ > 0) return true;
  problem_ = !got.ok() && got.code() == Code::deadline_exceeded ? Problem::too_late : Problem::gone;
  return false;
}

bool RequestStream::wait_for_request() {
  return begin_ < end_ || fill(clock_.after(limits_.idle_for));
}

void RequestStream::begin_request() {
  in_body_ = false;
  left_ = limits_.max_headers;
  receive_by_ = clock_.after(limits_.receive_within);
  send_by_ = Deadline::never();
  problem_ = Problem::none;
}

std::ptrdiff_t RequestStream::read(char* into, std::size_t size) {
  if (problem_ != Problem::none) return -1;
  if (left_ == 0 && in_body_) return 0;
  if (left_ == 0) problem_ = Problem::too_long;
  if (problem_ != Problem::none || !flush()) return -1;
  if (begin_ == end_ && !fill(receive_by_)) return -1;
  const std::size_t taken = std::min({size, end_ - begin_, static_cast<std::size_t>(left_)});
  std::memcpy(into, buffer_.data() + begin_, taken);
  begin_ += taken;
  left_ -= static_cast<Bytes>(taken);
  return static_cast<std::ptrdiff_t>(taken);
}

/// The time of an answer counts from its first byte on: the model may have taken longer than a client may.
void RequestStream::start_sending() {
  if (send_by_ == Deadline::never()) send_by_ = clock_.after(limits_.send_within);
}

std::ptrdiff_t RequestStream::write(const char* bytes, std::size_t size) {
  const bool fits = unsent_.size() + size <= kMostUnsent;
  if (fits) unsent_.append(bytes, size);
  if (fits) return static_cast<std::ptrdiff_t>(size);
  start_sending();
  if (!flush() || !connection_.write({bytes, size}, send_by_).ok()) return -1;
  return static_cast<std::ptrdiff_t>(size);
}

bool RequestStream::send_piece() {
  send_by_ = Deadline::never();
  return flush();
}

bool RequestStream::flush() {
  if (unsent_.empty()) return true;
  start_sending();
  const Status sent = connection_.write(unsent_, send_by_);
  unsent_.clear();
  if (!sent.ok()) problem_ = Problem::gone;
  return sent.ok();
}

}  // namespace mangrove::serve

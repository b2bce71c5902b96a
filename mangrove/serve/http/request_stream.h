#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/http/connection.h"
#include "mangrove/serve/http/limits.h"

namespace mangrove::serve {

/// The bytes of one request after the other on a connection. Nothing beyond what a request may have is read, and a
/// request is over when its time is, however slowly its bytes come. threads: one at a time.
class RequestStream {
 public:
  RequestStream(Connection& connection, const HttpLimits& limits) : connection_(connection), limits_(limits) {}

  /// Waits for the first byte of a request. Whether there is one: else the client has ended, or was idle for too long.
  bool wait_for_request();
  /// Begins with a request: its time counts from now on, and its headers may be limits.max_headers long.
  void begin_request();
  /// From now on, its body comes.
  void begin_body(Bytes length) {
    left_ = length;
    in_body_ = true;
  }

  /// Bytes of the request. 0: there are no more of it. Below 0: see `problem`.
  std::ptrdiff_t read(char* into, std::size_t size);
  /// Keeps short pieces until there are more, or until flush() or read().
  std::ptrdiff_t write(const char* bytes, std::size_t size);
  bool flush();
  /// Sends what there is of an answer that comes in pieces; the time for the next piece begins anew.
  bool send_piece();

  enum class Problem { none, too_long, too_late, gone };
  Problem problem() const { return problem_; }
  /// Whether bytes of the last request have not been read: what follows would be taken for the next request.
  bool has_rest() const { return left_ > 0; }

 private:
  bool fill(Deadline deadline);
  void start_sending();

  Connection& connection_;
  const HttpLimits& limits_;
  const SteadyClock clock_;
  std::vector<char> buffer_ = std::vector<char>(16384);
  std::size_t begin_ = 0, end_ = 0;  // of what was received and not read, in the buffer
  std::string unsent_;
  Bytes left_ = 0;  // that may be read
  bool in_body_ = false;
  Deadline receive_by_, send_by_;
  Problem problem_ = Problem::none;
};

}  // namespace mangrove::serve

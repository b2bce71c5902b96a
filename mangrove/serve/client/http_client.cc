#include "mangrove/serve/client/http_client.h"

#include <fcntl.h>
#include <httplib.h>  // as in http/session.cc: it takes long to compile
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "mangrove/base/parse_number.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kMostReplyHeaders = 16 << 10;
constexpr std::size_t kReceivedAtOnce = 64 << 10;
constexpr std::int64_t kLongestRetry = 3600;  // seconds
constexpr const char* kInferenceLength = "Inference-Header-Content-Length";

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

/// errors: deadline_exceeded, unavailable.
Status wait_until_connected(int socket, Deadline deadline) {
  for (;;) {
    const Seconds left = deadline - SteadyClock().now();
    if (left <= 0) return make_error(Code::deadline_exceeded, "no connection in time");
    pollfd waiting{socket, POLLOUT, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::ceil(std::min(left, 3600.0) * 1000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) continue;
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return {};
    return make_error(Code::unavailable, "no connection: " + std::generic_category().message(error));
  }
}

Result<Descriptor> dial_one(const addrinfo& address, Deadline deadline) {
  Descriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (socket.number() < 0)
    return make_error(Code::resource_exhausted, "no socket: " + std::generic_category().message(errno));
  if (::connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS)
    return make_error(Code::unavailable, "no connection: " + std::generic_category().message(errno));
  MG_RETURN_IF_ERROR(wait_until_connected(socket.number(), deadline));
  return socket;
}

/// Tries all addresses of the host, one after the other.
Result<Descriptor> dial(const ServerUrl& url, Deadline deadline) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &wanted, &found);
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  if (failed != 0) return make_error(Code::unavailable, std::string("no address of the host: ") + gai_strerror(failed));
  Result<Descriptor> dialled = make_error(Code::unavailable, "the host has no address");
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    dialled = dial_one(*one, deadline);
    if (dialled.ok()) return dialled;
  }
  return dialled;
}

/// The bytes of one reply as httplib reads them. No more than a reply may have is given out.
class ReplyStream final : public httplib::Stream {
 public:
  ReplyStream(Connection& connection, Deadline deadline) : connection_(connection), deadline_(deadline) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* into, size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    if (!in_body_ && ++headers_ > kMostReplyHeaders) {
      problem_ = make_error(Code::data_loss, "its headers are longer than 16 KiB");
      return -1;
    }
    // headers are read byte by byte
    const std::size_t taken = std::min(size, end_ - begin_);
    std::memcpy(into, buffer_.data() + begin_, taken);
    begin_ += taken;
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* bytes, size_t size) override {
    Status written = connection_.write({bytes, size}, deadline_);
    if (written.ok()) return static_cast<ssize_t>(size);
    problem_ = written.error();
    return -1;
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return -1; }

  void begin_body() { in_body_ = true; }
  bool has_rest() const { return begin_ != end_; }
  /// Why nothing more comes; nothing: httplib itself has found the reply wrong.
  const std::optional<Error>& problem() const { return problem_; }

 private:
  bool fill() {
    const Result<std::size_t> got = connection_.read(buffer_, deadline_);
    if (!got.ok()) problem_ = got.error();
    if (got.ok() && *got == 0) problem_ = make_error(Code::unavailable, "the server has hung up");
    begin_ = 0;
    end_ = got.ok() ? *got : 0;
    return end_ > 0;
  }

  Connection& connection_;
  const Deadline deadline_;
  std::vector<char> buffer_ = std::vector<char>(kReceivedAtOnce);
  std::size_t begin_ = 0, end_ = 0;
  std::size_t headers_ = 0;
  bool in_body_ = false;
  std::optional<Error> problem_;
};

/// Writes a request and reads its reply with httplib's client. It does not use its sockets: these have no bound for
/// the time of a whole reply and for headers.
class Exchange final : public httplib::ClientImpl {
 public:
  explicit Exchange(const ServerUrl& url) : ClientImpl(url.host, url.port) { set_url_encode(false); }
  bool run(httplib::Stream& stream, httplib::Request& request, httplib::Response& response) {
    httplib::Error error = httplib::Error::Success;
    return process_request(stream, request, response, /*close_connection=*/false, error);
  }
};

httplib::Request library_request(const HttpCall& call, const std::string& token) {
  httplib::Request request;
  request.method = call.method;
  request.path = call.target;
  request.body = call.body;
  if (call.method == "POST") request.set_header("Content-Type", call.content_type);
  if (!token.empty()) request.set_header("Authorization", "Bearer " + token);
  if (call.json_length) request.set_header(kInferenceLength, std::to_string(*call.json_length));
  request.set_header("Accept-Encoding", "identity");  // a compressed body could be longer than its bytes say
  return request;
}

void take_headers(const httplib::Response& from, HttpReply& to) {
  to.status = from.status;
  if (from.has_header(kInferenceLength)) to.json_length = from.get_header_value(kInferenceLength);
  const auto seconds = parse_whole_number(from.get_header_value("Retry-After"), 0, kLongestRetry);
  if (seconds.ok()) to.retry_after = static_cast<Seconds>(*seconds);
}

}  // namespace

Status HttpClient::connect(Deadline deadline) {
  if (connection_ != nullptr && !connection_->has_ended()) return {};
  connection_.reset();
  MG_TRY(Descriptor socket, dial(url_, deadline));
  TlsSession session;
  if (tls_ != nullptr) {
    MG_TRY(session, tls_->new_session());
  }
  auto connection = std::make_unique<Connection>(std::move(socket), std::move(session), Peer::server);
  MG_RETURN_IF_ERROR(connection->shake_hands(deadline));
  connection_ = std::move(connection);
  return {};
}

Result<HttpReply> HttpClient::exchange(const HttpCall& call, Bytes most_body, Deadline deadline) {
  HttpReply reply;
  ReplyStream stream(*connection_, deadline);
  httplib::Request request = library_request(call, token_);
  bool is_too_long = false;
  request.response_handler = [&](const httplib::Response&) {
    stream.begin_body();
    return true;
  };
  request.content_receiver = [&](const char* bytes, std::size_t size, std::uint64_t, std::uint64_t) {
    is_too_long = reply.body.size() + size > static_cast<std::size_t>(most_body);
    if (!is_too_long) reply.body.append(bytes, size);
    return !is_too_long;
  };
  httplib::Response response;
  const bool done = Exchange(url_).run(stream, request, response);
  const bool is_kept = done && !stream.has_rest() && response.get_header_value("Connection") != "close" &&
                       response.version != "HTTP/1.0";
  if (!is_kept) connection_.reset();
  if (is_too_long)
    return make_error(Code::resource_exhausted,
                      "its answer is longer than the " + format_bytes(most_body) + " that are taken");
  if (!done && stream.problem()) return *stream.problem();
  if (!done) return make_error(Code::data_loss, "what it sends is no answer of HTTP");
  take_headers(response, reply);
  return reply;
}

Result<HttpReply> HttpClient::call(const HttpCall& call, Bytes most_body, Deadline deadline) {
  const std::string where = url_.to_string();
  has_reached_ = false;
  try {
    MG_RETURN_IF_ERROR(connect(deadline).context(where));
    has_reached_ = true;
    return exchange(call, most_body, deadline).context(where);
  } catch (const std::exception& error) {  // of httplib, or no memory
    connection_.reset();
    return make_error(Code::data_loss, where + ": the answer could not be read: " + error.what());
  }
}

}  // namespace mangrove::serve

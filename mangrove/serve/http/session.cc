#include "mangrove/serve/http/session.h"

#include <httplib.h>  // here alone: it takes long to compile

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/serve/http/request_stream.h"

namespace mangrove::serve {
namespace {

/// The bytes of a connection, as httplib reads and writes them.
class LibraryStream final : public httplib::Stream {
 public:
  explicit LibraryStream(RequestStream& stream) : stream_(stream) {}
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* into, size_t size) override { return stream_.read(into, size); }
  ssize_t write(const char* bytes, size_t size) override { return stream_.write(bytes, size); }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return -1; }

 private:
  RequestStream& stream_;
};

/// What is wrong with a request before its body comes, as the server itself sees it.
struct Refusal {
  int status;
  const char* message;
};

/// The length of the body. Nothing: the header is no number.
std::optional<Bytes> body_length(const httplib::Request& request) {
  if (!request.has_header("Content-Length")) return 0;
  const std::string text = request.get_header_value("Content-Length");
  Bytes length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && length >= 0 && !text.empty();
  if (!is_number || request.get_header_value_count("Content-Length") != 1) return std::nullopt;
  return length;
}

/// The value of a header that may come once. "": it did not come, or more than once.
std::string only_value(const httplib::Request& request, const char* header) {
  return request.get_header_value_count(header) == 1 ? request.get_header_value(header) : "";
}

std::optional<Refusal> check_body(const httplib::Request& request, const HttpLimits& limits) {
  // without a length, a request would end where the client says so, later
  if (request.has_header("Transfer-Encoding")) return Refusal{411, "a body needs the header Content-Length"};
  const std::optional<Bytes> length = body_length(request);
  if (!length) return Refusal{400, "the header Content-Length is no number of bytes"};
  if (*length > limits.max_request) return Refusal{413, "the body is longer than this server takes"};
  if (*length > 0 && request.method != "POST") return Refusal{400, "only POST has a body"};
  if (request.is_multipart_form_data()) return Refusal{415, "multipart/form-data is not taken"};
  return std::nullopt;
}

/// What httplib has refused by itself.
Refusal library_refusal(int status, RequestStream::Problem problem) {
  if (problem == RequestStream::Problem::too_long) return {431, "the headers are longer than this server takes"};
  if (problem == RequestStream::Problem::too_late) return {408, "the request did not come in time"};
  if (status == 414) return {414, "the address is longer than this server takes"};
  if (status == 500) return {500, "the request could not be answered"};
  return {status, "this is no request of HTTP/1.1"};
}

/// Parses and answers the requests of one connection with httplib. It does not use its sockets and its threads: these
/// have no bound for a request's time and for headers.
class Session final : public httplib::Server {
 public:
  Session(Connection& connection, const SessionContext& context)
      : connection_(connection), context_(context), stream_(connection, context.limits) {
    svr_sock_ = 0;  // it listens nowhere; without a socket httplib takes itself for one that ends, and cuts streams
    set_keep_alive_max_count(static_cast<std::size_t>(context.limits.requests_per_connection));
    set_keep_alive_timeout(static_cast<time_t>(context.limits.idle_for));
    set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      if (!refused_) return HandlerResponse::Unhandled;
      must_close_ = must_close_ || stream_.has_rest();
      fill(std::move(*refused_), response);
      return HandlerResponse::Handled;
    });
    set_expect_100_continue_handler([this](const httplib::Request&, httplib::Response& response) {
      if (!refused_) return 100;
      must_close_ = true;
      fill(std::move(*refused_), response);
      return response.status;
    });
    Get("/", [this](const httplib::Request&, httplib::Response& response) { answer({}, response); });
    Post("/", [this](const httplib::Request& request, httplib::Response& response,
                     const httplib::ContentReader& reader) { read_and_answer(request, response, reader); });
    set_error_handler(HandlerWithResponse([this](const httplib::Request&, httplib::Response& response) {
      explain(response);
      return HandlerResponse::Handled;
    }));
    set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      if (!must_close_) return;
      response.headers.erase("Keep-Alive");
      response.headers.erase("Connection");
      response.set_header("Connection", "close");
    });
  }

  void run() {
    for (int count = 1; !must_close_; ++count) {
      context_.on_idle(true);
      const bool has_request = !context_.is_closing() && stream_.wait_for_request();
      context_.on_idle(false);
      if (!has_request) return;
      const bool is_last = context_.is_closing() || count >= context_.limits.requests_per_connection;
      bool client_closes = false;
      head_ = {};
      stream_.begin_request();
      LibraryStream stream(stream_);
      const bool answered =
          process_request(stream, is_last, client_closes, [this](httplib::Request& request) { begin(request); });
      if (!stream_.flush() || !answered || is_last || client_closes) return;
    }
  }

 private:
  /// The headers are there.
  void begin(httplib::Request& request) {
    head_ = {.method = request.method == "HEAD" ? "GET" : request.method,
             .target = request.target,
             .inference_header_length = {},
             .authorization = request.get_header_value("Authorization"),
             .accept = request.get_header_value("Accept"),
             .traceparent = only_value(request, "traceparent"),
             .takes_pieces = request.version != "HTTP/1.0",
             .member = connection_.member(),
             .from = connection_.other_end(),
             .came = {}};
    if (request.has_header("Inference-Header-Content-Length"))
      head_.inference_header_length = request.get_header_value("Inference-Header-Content-Length");
    takes_pieces_ = head_.takes_pieces;
    request.path = "/";                        // the handler has the routes
    request.ranges.clear();                    // answers are short, or come whole
    request.headers.erase("Accept-Encoding");  // and are not compressed
    stream_.begin_body(body_length(request).value_or(0));
    refused_ = context_.handler.refuse(head_);
    const std::optional<Refusal> wrong = check_body(request, context_.limits);
    if (!wrong) return;
    must_close_ = true;  // where its body ends is not known
    if (!refused_) refused_ = context_.handler.error(head_, wrong->status, wrong->message);
  }

  void read_and_answer(const httplib::Request& request, httplib::Response& response,
                       const httplib::ContentReader& reader) {
    std::string body;
    BodyRoom::Share share(context_.room);
    Refusal wrong{400, "the body did not come, or is not encoded as its headers say"};
    body.reserve(static_cast<std::size_t>(body_length(request).value_or(0)));  // takes memory where it is written
    const bool read = reader([&](const char* bytes, std::size_t size) {
      // it may be compressed: then it is longer than its header says
      if (body.size() + size > static_cast<std::size_t>(context_.limits.max_request))
        wrong = {413, "the body is longer than this server takes"};
      else if (!share.grow(static_cast<Bytes>(size)))
        wrong = {503, "other requests take up all the room for bodies"};
      else
        return body.append(bytes, size), true;
      return false;
    });
    if (read) return answer(std::move(body), response);
    must_close_ = true;
    if (stream_.problem() == RequestStream::Problem::too_late) wrong = {408, "the request did not come in time"};
    fill(context_.handler.error(head_, wrong.status, wrong.message), response);
  }

  void answer(std::string body, httplib::Response& response) {
    head_.came = SteadyClock().now();
    HttpRequest request{.head = std::exchange(head_, {}), .body = std::move(body)};
    fill(context_.handler.answer(std::move(request), context_.stop), response);
  }

  void fill(HttpResponse from, httplib::Response& to) {
    to.status = from.status;
    to.body = std::move(from.body);
    for (const auto& [name, value] : from.headers) to.set_header(name, value);
    if (from.stream && !takes_pieces_) {
      to.headers.clear();
      return fill(context_.handler.error(head_, 505, "this answer comes in pieces, which needs HTTP/1.1"), to);
    }
    if (from.stream) return fill_stream(std::move(from), to);
    to.set_header("Content-Type", from.content_type);
  }

  void fill_stream(HttpResponse from, httplib::Response& to) {
    must_close_ = true;  // a client that leaves in the middle leaves no room for another request
    to.set_chunked_content_provider(
        from.content_type, [this, next = std::move(from.stream), is_endless = from.is_endless](
                               std::size_t /*offset*/, httplib::DataSink& sink) {
          if (!stream_.send_piece()) return false;  // what was written before
          const std::string piece = is_endless && context_.is_closing() ? "" : next(context_.stop);
          if (piece.empty()) return sink.done(), true;
          return sink.write(piece.data(), piece.size());
        });
  }

  /// Every error has a body that says what is wrong.
  void explain(httplib::Response& response) {
    if (!response.body.empty()) return;
    const Refusal refusal = library_refusal(response.status, stream_.problem());
    must_close_ = true;
    response.headers.erase("EXCEPTION_WHAT");  // that is nothing for a client
    fill(context_.handler.error(head_, refusal.status, refusal.message), response);
  }

  Connection& connection_;
  const SessionContext& context_;
  RequestStream stream_;
  HttpHead head_;
  std::optional<HttpResponse> refused_;
  bool must_close_ = false, takes_pieces_ = true;
};

}  // namespace

void serve_requests(Connection& connection, const SessionContext& context) {
  try {
    Session(connection, context).run();
  } catch (const std::exception& error) {  // no memory, outside of an answer
    log_warn("connection cut", {{"why", error.what()}});
  }
}

}  // namespace mangrove::serve

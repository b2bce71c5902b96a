#include "mangrove/sensors/coap_observer_link.h"

#include <atomic>
#include <thread>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/sensors/backoff.h"
#include "mangrove/sensors/coap_blocks.h"
#include "mangrove/sensors/coap_context.h"
#include "mangrove/sensors/topic.h"

namespace mangrove::sensors {
namespace {

constexpr Seconds kFirstPauseOfObserver = 1, kLongestPauseOfObserver = 60;
constexpr Seconds kAnswerWithin = 10;  // of the first answer to an observation

class CoapObserverLink final : public Link {
 public:
  static Result<std::unique_ptr<Link>> start(const SourceOptions& options, const std::string& client_id,
                                             LinkEvents events);
  ~CoapObserverLink() override;
  bool is_connected() const override { return is_connected_; }
  std::uint64_t reconnects() const override { return connections_ > 0 ? connections_ - 1 : 0; }
  Status send(std::uint64_t /*token*/, const std::string& /*topic*/, std::string_view /*payload*/) override {
    return make_error(Code::unimplemented, "nothing is sent to a resource that is observed");
  }

 private:
  CoapObserverLink(SourceOptions options, Url url, LinkEvents events)
      : options_(std::move(options)),
        url_(std::move(url)),
        events_(std::move(events)),
        blocks_({.body = options_.max_message, .all = options_.max_message}) {}
  Status make();
  void work(const std::stop_token& stop);
  /// Asks for the observation, and takes what comes until it is silent for too long.
  Status observe(const std::stop_token& stop);
  Result<coap_session_t*> open_session();
  Status ask(coap_session_t* session) const;
  coap_response_t came(const coap_pdu_t* received);

  const SourceOptions options_;
  const Url url_;
  const LinkEvents events_;
  const SteadyClock clock_;
  std::string psk_;
  CoapBlocks blocks_;
  std::unique_ptr<CoapContext> context_;
  Instant heard_;
  bool has_heard_ = false;   // since the observation was asked for
  bool is_refresh_ = false;  // nothing whole has come since it was asked for again
  std::string last_;         // body
  std::atomic<bool> is_connected_ = false;
  std::atomic<std::uint64_t> connections_ = 0;
  std::jthread thread_;
};

Result<std::unique_ptr<Link>> CoapObserverLink::start(const SourceOptions& options, const std::string& /*client_id*/,
                                                      LinkEvents events) {
  MG_TRY(Url url, parse_coap_url(options.link.url));
  std::unique_ptr<CoapObserverLink> link(new CoapObserverLink(options, std::move(url), std::move(events)));
  MG_RETURN_IF_ERROR(link->make());
  link->thread_ = std::jthread([raw = link.get()](const std::stop_token& stop) { raw->work(stop); });
  return std::unique_ptr<Link>(std::move(link));
}

CoapObserverLink::~CoapObserverLink() {
  if (context_ == nullptr) return;
  thread_.request_stop();
  context_->wake();
  if (thread_.joinable()) thread_.join();
}

Status CoapObserverLink::make() {
  if (url_.scheme == "coaps") {
    MG_TRY(psk_, read_psk(options_.link));
  }
  MG_TRY(context_, CoapContext::make());
  coap_set_app_data(context_->get(), this);
  coap_context_set_block_mode(context_->get(), COAP_BLOCK_USE_LIBCOAP);  // it asks for further blocks; we join them
  coap_register_response_handler(context_->get(), [](coap_session_t* session, const coap_pdu_t* /*sent*/,
                                                     const coap_pdu_t* received, const coap_mid_t /*number*/) {
    return static_cast<CoapObserverLink*>(coap_get_app_data(coap_session_get_context(session)))->came(received);
  });
  return {};
}

Result<coap_session_t*> CoapObserverLink::open_session() {
  MG_TRY(const coap_address_t address, coap_address_of(url_));
  coap_session_t* session = nullptr;
  if (psk_.empty()) {
    session = coap_new_client_session(context_->get(), nullptr, &address, COAP_PROTO_UDP);
  } else {
    coap_dtls_cpsk_t setup{};
    setup.version = COAP_DTLS_CPSK_SETUP_VERSION;
    const std::string& name = options_.link.psk_identity;
    setup.psk_info.identity = {name.size(), reinterpret_cast<const std::uint8_t*>(name.data())};
    setup.psk_info.key = {psk_.size(), reinterpret_cast<const std::uint8_t*>(psk_.data())};
    session = coap_new_client_session_psk2(context_->get(), nullptr, &address, COAP_PROTO_DTLS, &setup);
  }
  if (session == nullptr) return make_error(Code::unavailable, "there is no way to " + options_.link.url);
  return session;
}

Status CoapObserverLink::ask(coap_session_t* session) const {
  coap_pdu_t* const pdu = coap_pdu_init(COAP_MESSAGE_CON, COAP_REQUEST_CODE_GET, coap_new_message_id(session),
                                        coap_session_max_pdu_size(session));
  if (pdu == nullptr) return make_error(Code::resource_exhausted, "there is no memory for a request");
  std::uint8_t token[8];
  std::size_t size = 0;
  coap_session_new_token(session, &size, token);
  (void)coap_add_token(pdu, size, token);
  (void)coap_add_option(pdu, COAP_OPTION_OBSERVE, 0, nullptr);  // an empty number is 0: register
  for (const std::string& segment : topic_levels(url_.path))
    (void)coap_add_option(pdu, COAP_OPTION_URI_PATH, segment.size(),
                          reinterpret_cast<const std::uint8_t*>(segment.data()));
  if (coap_send(session, pdu) != COAP_INVALID_MID) return {};
  return make_error(Code::unavailable, "the request could not be sent");
}

Status CoapObserverLink::observe(const std::stop_token& stop) {
  MG_TRY(coap_session_t* const session, open_session());
  const std::unique_ptr<coap_session_t, decltype(&coap_session_release)> owner(session, &coap_session_release);
  blocks_.forget(0);
  has_heard_ = false;
  heard_ = clock_.now();
  MG_RETURN_IF_ERROR(ask(session));
  while (!stop.stop_requested()) {
    const Seconds silence = clock_.now() - heard_;
    if (!has_heard_ && silence > kAnswerWithin) return make_error(Code::unavailable, "there is no answer");
    if (has_heard_ && silence > options_.link.refresh) return {};  // perhaps it has forgotten us: ask again
    context_->run_once(1);
  }
  return {};
}

void CoapObserverLink::work(const std::stop_token& stop) {
  Backoff backoff(kFirstPauseOfObserver, kLongestPauseOfObserver,
                  Random(std::hash<std::string>()(options_.name + url_.host)));
  while (!stop.stop_requested()) {
    const Status observed = observe(stop);
    is_refresh_ = observed.ok();
    if (observed.ok()) {
      backoff.succeeded();
      continue;
    }
    is_connected_ = false;
    log_warn("no observation",
             {{"source", options_.name}, {"url", options_.link.url}, {"why", observed.error().message}});
    const Deadline until = clock_.after(backoff.next());
    while (!stop.stop_requested() && clock_.now() < until) context_->run_once(until - clock_.now());
  }
}

coap_response_t CoapObserverLink::came(const coap_pdu_t* received) {
  std::size_t size = 0, offset = 0, total = 0;
  const std::uint8_t* data = nullptr;
  if (COAP_RESPONSE_CLASS(coap_pdu_get_code(received)) != 2) return COAP_RESPONSE_OK;  // so nothing has been heard
  if (coap_get_data_large(received, &size, &data, &offset, &total) != 1) return COAP_RESPONSE_OK;
  heard_ = clock_.now();
  if (!std::exchange(has_heard_, true) && !is_connected_.exchange(true)) ++connections_;
  CoapBlocks::Step step =
      blocks_.add(0, offset, offset + size < total, {reinterpret_cast<const char*>(data), size}, heard_);
  if (step.state != CoapBlocks::State::whole) return COAP_RESPONSE_OK;
  // the answer to a refresh is the state that has been told already, unless it has changed
  if (std::exchange(is_refresh_, false) && step.body == last_) {
    events_.repeated();
    return COAP_RESPONSE_OK;
  }
  last_ = step.body;
  events_.came({.topic = url_.path, .payload = std::move(step.body), .arrived = events_.wall_clock()});
  return COAP_RESPONSE_OK;
}

void add_observer_keys(Keys& keys, LinkOptions& link) {
  add_coap_keys(keys, link);
  keys.add_seconds("refresh", link.refresh,
                   "of coap-observe: after so long a silence the observation is asked for again", 1);
}

Status check_observer(const SourceOptions& options) {
  return check_coap_keys(options.link);
}

}  // namespace

LinkKind coap_observer_links() {
  return {.name = "coap-observe",
          .help = "a CoAP resource of a sensor, which is observed",
          .is_sink = false,
          .add_keys = &add_observer_keys,
          .check = &check_observer,
          .start = &CoapObserverLink::start};
}

}  // namespace mangrove::sensors

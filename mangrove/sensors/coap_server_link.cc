#include "mangrove/sensors/coap_server_link.h"

#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/sensors/coap_blocks.h"
#include "mangrove/sensors/coap_context.h"
#include "mangrove/sensors/coap_exchanges.h"

namespace mangrove::sensors {
namespace {

constexpr unsigned kMostSessions = 1000, kMostHandshakes = 100, kIdleSession = 300;  // seconds
constexpr std::size_t kLongestDiagnosis = 200;

/// Answers on their way to the thread of the link, which may be gone by then.
struct Replies {
  Mutex mutex;
  CoapContext* context MG_GUARDED_BY(mutex) = nullptr;  // null: the link has ended
  std::vector<std::pair<std::uint64_t, Result<std::string>>> waiting MG_GUARDED_BY(mutex);

  void add(std::uint64_t number, Result<std::string> reply) {
    const MutexLock lock(mutex);
    if (context == nullptr) return;
    waiting.emplace_back(number, std::move(reply));
    context->wake();
  }
};

/// A client that waits for its answer. It keeps the session alive.
struct Client {
  coap_session_t* session = nullptr;
  coap_pdu_type_t type = COAP_MESSAGE_CON;
  std::string token;
  std::optional<std::uint32_t> block;  // the option Block1 of its last block
};

std::string token_text(const coap_pdu_t* pdu) {
  const coap_bin_const_t token = coap_pdu_get_token(pdu);
  return {reinterpret_cast<const char*>(token.s), token.length};
}

coap_pdu_code_t code_of(const Error& error) {
  switch (error.code) {
    case Code::invalid_argument:
      return COAP_RESPONSE_CODE_BAD_REQUEST;
    case Code::out_of_range:
      return COAP_RESPONSE_CODE_REQUEST_TOO_LARGE;
    case Code::already_exists:
      return COAP_RESPONSE_CODE_CONFLICT;
    case Code::resource_exhausted:
    case Code::unavailable:
      return COAP_RESPONSE_CODE_SERVICE_UNAVAILABLE;
    default:
      return COAP_RESPONSE_CODE_INTERNAL_ERROR;
  }
}

void add_number_option(coap_pdu_t* pdu, coap_option_num_t option, std::uint32_t value) {
  std::uint8_t bytes[4];
  const unsigned size = coap_encode_var_safe(bytes, sizeof bytes, value);
  (void)coap_add_option(pdu, option, size, bytes);
}

bool add_text(coap_pdu_t* pdu, const std::string& text) {
  return coap_add_data(pdu, text.size(), reinterpret_cast<const std::uint8_t*>(text.data())) == 1;
}

class CoapServerLink final : public Link {
 public:
  static Result<std::unique_ptr<Link>> start(const SourceOptions& options, const std::string& client_id,
                                             LinkEvents events);
  ~CoapServerLink() override;
  bool is_connected() const override { return true; }
  std::uint64_t reconnects() const override { return 0; }
  Status send(std::uint64_t /*token*/, const std::string& /*topic*/, std::string_view /*payload*/) override {
    return make_error(Code::unimplemented, "nothing is sent to a CoAP resource of one's own");
  }

 private:
  CoapServerLink(SourceOptions options, LinkEvents events)
      : options_(std::move(options)),
        events_(std::move(events)),
        blocks_({.body = options_.max_message, .all = options_.queue.bytes}) {}
  Status listen();
  Status set_key();
  void work(const std::stop_token& stop);
  void handle(coap_session_t* session, const coap_pdu_t* request, coap_pdu_t* response);
  bool is_repeated(const coap_session_t* session, const coap_pdu_t* request);
  void take(coap_session_t* session, const coap_pdu_t* request, std::optional<std::uint32_t> block, std::string body);
  void answer(std::uint64_t number, const Result<std::string>& reply);
  coap_pdu_t* response_to(const Client& client, const Result<std::string>& reply) const;

  const SourceOptions options_;
  const LinkEvents events_;
  const SteadyClock clock_;
  std::string path_, psk_;
  CoapBlocks blocks_;
  std::unique_ptr<CoapContext> context_;
  const std::shared_ptr<Replies> replies_ = std::make_shared<Replies>();
  std::map<std::uint64_t, Client> clients_;  // by the number of their message
  std::uint64_t last_ = 0;
  CoapExchanges exchanges_;
  std::jthread thread_;
};

Result<std::unique_ptr<Link>> CoapServerLink::start(const SourceOptions& options, const std::string& /*client_id*/,
                                                    LinkEvents events) {
  std::unique_ptr<CoapServerLink> link(new CoapServerLink(options, std::move(events)));
  MG_RETURN_IF_ERROR(link->listen());
  link->thread_ = std::jthread([raw = link.get()](const std::stop_token& stop) { raw->work(stop); });
  return std::unique_ptr<Link>(std::move(link));
}

CoapServerLink::~CoapServerLink() {
  if (context_ == nullptr) return;
  thread_.request_stop();
  context_->wake();
  if (thread_.joinable()) thread_.join();
  {
    const MutexLock lock(replies_->mutex);
    replies_->context = nullptr;
  }
  for (auto& [number, client] : clients_) coap_session_release(client.session);
}

Status CoapServerLink::set_key() {
  MG_TRY(psk_, read_psk(options_.link));
  coap_dtls_spsk_t setup{};
  setup.version = COAP_DTLS_SPSK_SETUP_VERSION;
  setup.psk_info.key = {psk_.size(), reinterpret_cast<const std::uint8_t*>(psk_.data())};
  setup.validate_id_call_back = [](coap_bin_const_t* identity, coap_session_t* /*session*/,
                                   void* self) -> const coap_bin_const_t* {
    const auto* const link = static_cast<CoapServerLink*>(self);
    const std::string_view name(reinterpret_cast<const char*>(identity->s), identity->length);
    static thread_local coap_bin_const_t key;  // libcoap copies it before it asks again
    key = {link->psk_.size(), reinterpret_cast<const std::uint8_t*>(link->psk_.data())};
    return name == link->options_.link.psk_identity ? &key : nullptr;
  };
  setup.id_call_back_arg = this;
  if (coap_context_set_psk2(context_->get(), &setup) == 1) return {};
  return make_error(Code::invalid_argument, "key 'psk_file': libcoap does not take this key");
}

Status CoapServerLink::listen() {
  MG_TRY(const Url url, parse_coap_url(options_.link.url));
  MG_TRY(const coap_address_t address, coap_address_of(url));
  MG_TRY(context_, CoapContext::make());
  path_ = url.path;
  const bool is_secure = url.scheme == "coaps";
  if (is_secure) MG_RETURN_IF_ERROR(set_key());
  coap_context_set_max_idle_sessions(context_->get(), kMostSessions);
  coap_context_set_max_handshake_sessions(context_->get(), kMostHandshakes);
  coap_context_set_session_timeout(context_->get(), kIdleSession);
  if (coap_new_endpoint(context_->get(), &address, is_secure ? COAP_PROTO_DTLS : COAP_PROTO_UDP) == nullptr)
    return make_error(Code::unavailable, "'" + options_.link.url + "': this address cannot be listened on");
  const coap_str_const_t path = {path_.size(), reinterpret_cast<const std::uint8_t*>(path_.data())};
  coap_resource_t* const resource = coap_resource_init(const_cast<coap_str_const_t*>(&path), 0);
  coap_resource_set_userdata(resource, this);
  const coap_method_handler_t handler = [](coap_resource_t* one, coap_session_t* session, const coap_pdu_t* request,
                                           const coap_string_t* /*query*/, coap_pdu_t* response) {
    static_cast<CoapServerLink*>(coap_resource_get_userdata(one))->handle(session, request, response);
  };
  coap_register_request_handler(resource, COAP_REQUEST_PUT, handler);
  coap_register_request_handler(resource, COAP_REQUEST_POST, handler);
  coap_add_resource(context_->get(), resource);
  const MutexLock lock(replies_->mutex);
  replies_->context = context_.get();
  return {};
}

void CoapServerLink::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    context_->run_once(1);
    std::vector<std::pair<std::uint64_t, Result<std::string>>> ready;
    {
      const MutexLock lock(replies_->mutex);
      ready.swap(replies_->waiting);
    }
    for (const auto& [number, reply] : ready) answer(number, reply);
  }
}

/// A client that has not heard of its message's arrival sends it again.
bool CoapServerLink::is_repeated(const coap_session_t* session, const coap_pdu_t* request) {
  std::string key = std::string(coap_session_str(session)) + " " + std::to_string(coap_pdu_get_mid(request)) + " " +
                    token_text(request);
  if (!exchanges_.is_repeated(std::move(key), clock_.now())) return false;
  events_.repeated();
  return true;
}

/// The answer comes later. Where the code stays 0, libcoap only confirms that the request has come.
void CoapServerLink::handle(coap_session_t* session, const coap_pdu_t* request, coap_pdu_t* response) {
  std::size_t size = 0;
  const std::uint8_t* data = nullptr;
  (void)coap_get_data(request, &size, &data);
  coap_block_t block{};
  const bool has_block = coap_get_block(request, COAP_OPTION_BLOCK1, &block) == 1;
  const bool has_more = has_block && block.m == 1;
  const std::size_t offset = has_block ? static_cast<std::size_t>(block.num) << (block.szx + 4) : 0;
  if (!has_more && is_repeated(session, request)) return;
  const std::uint32_t option = (static_cast<std::uint32_t>(block.num) << 4) | (has_more ? 8U : 0U) | block.szx;
  CoapBlocks::Step step = blocks_.add(reinterpret_cast<std::uintptr_t>(session), offset, has_more,
                                      {reinterpret_cast<const char*>(data), size}, clock_.now());
  switch (step.state) {
    case CoapBlocks::State::whole:
      return take(session, request, has_block ? std::optional(option) : std::nullopt, std::move(step.body));
    case CoapBlocks::State::more:
      coap_pdu_set_code(response, COAP_RESPONSE_CODE_CONTINUE);
      break;
    case CoapBlocks::State::incomplete:
      coap_pdu_set_code(response, COAP_RESPONSE_CODE_INCOMPLETE);
      break;
    case CoapBlocks::State::too_long:
      coap_pdu_set_code(response, COAP_RESPONSE_CODE_REQUEST_TOO_LARGE);
      break;
    case CoapBlocks::State::no_room:
      coap_pdu_set_code(response, COAP_RESPONSE_CODE_SERVICE_UNAVAILABLE);
      break;
  }
  if (has_block) add_number_option(response, COAP_OPTION_BLOCK1, option);
}

void CoapServerLink::take(coap_session_t* session, const coap_pdu_t* request, std::optional<std::uint32_t> block,
                          std::string body) {
  const std::uint64_t number = ++last_;
  clients_[number] = {.session = coap_session_reference(session),
                      .type = coap_pdu_get_type(request),
                      .token = token_text(request),
                      .block = block};
  events_.came(
      {.topic = path_,
       .payload = std::move(body),
       .arrived = events_.wall_clock(),
       .reply = [replies = replies_, number](Result<std::string> reply) { replies->add(number, std::move(reply)); }});
}

/// Null: there is no memory. An answer that does not fit becomes an error, which does.
coap_pdu_t* CoapServerLink::response_to(const Client& client, const Result<std::string>& reply) const {
  const coap_pdu_code_t code = reply.ok() ? COAP_RESPONSE_CODE_CHANGED : code_of(reply.error());
  coap_pdu_t* const pdu =
      coap_pdu_init(client.type, code, coap_new_message_id(client.session), coap_session_max_pdu_size(client.session));
  if (pdu == nullptr) return nullptr;
  (void)coap_add_token(pdu, client.token.size(), reinterpret_cast<const std::uint8_t*>(client.token.data()));
  if (reply.ok()) add_number_option(pdu, COAP_OPTION_CONTENT_FORMAT, COAP_MEDIATYPE_APPLICATION_JSON);
  if (client.block) add_number_option(pdu, COAP_OPTION_BLOCK1, *client.block);
  if (add_text(pdu, reply.ok() ? *reply : cut_short(reply.error().message, kLongestDiagnosis))) return pdu;
  coap_delete_pdu(pdu);
  if (!reply.ok()) return nullptr;
  return response_to(client, make_error(Code::internal, "the answer does not fit one message: ask for fewer classes"));
}

void CoapServerLink::answer(std::uint64_t number, const Result<std::string>& reply) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  const Client client = std::move(found->second);
  clients_.erase(found);
  if (coap_pdu_t* const pdu = response_to(client, reply); pdu != nullptr) (void)coap_send(client.session, pdu);
  coap_session_release(client.session);
}

Status check_coap_server(const SourceOptions& options) {
  return check_coap_keys(options.link);
}

}  // namespace

LinkKind coap_server_links() {
  return {.name = "coap",
          .help = "a CoAP resource of this process, to which sensors send",
          .is_sink = false,
          .add_keys = &add_coap_keys,
          .check = &check_coap_server,
          .start = &CoapServerLink::start};
}

}  // namespace mangrove::sensors

#include "mangrove/sensors/coap_context.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "mangrove/identity/secret_file.h"

namespace mangrove::sensors {

Result<std::unique_ptr<CoapContext>> CoapContext::make() {
  coap_startup();
  const int wake_up = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  coap_context_t* const context = wake_up < 0 ? nullptr : coap_new_context(nullptr);
  if (context == nullptr) return make_error(Code::resource_exhausted, "coap: there are no descriptors left");
  return std::unique_ptr<CoapContext>(new CoapContext(context, wake_up));
}

CoapContext::~CoapContext() {
  coap_free_context(context_);
  ::close(wake_up_);
}

void CoapContext::run_once(Seconds at_most) {
  coap_tick_t now = 0;
  coap_ticks(&now);
  const unsigned next = coap_io_prepare_epoll(context_, now);  // milliseconds until libcoap has to do something
  const int longest = static_cast<int>(at_most * 1000);
  const int timeout = next == 0 ? longest : std::min(longest, static_cast<int>(std::min(next, 60'000U)));
  pollfd ready[] = {{coap_context_get_coap_fd(context_), POLLIN, 0}, {wake_up_, POLLIN, 0}};
  if (::poll(ready, 2, timeout) > 0 && (ready[1].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake_up_, &count, sizeof count);
  }
  (void)coap_io_process(context_, COAP_IO_NO_WAIT);
}

void CoapContext::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_up_, &one, sizeof one);
}

Result<Url> parse_coap_url(const std::string& text) {
  return parse_url(text, {{"coap", 5683}, {"coaps", 5684}}).context("key 'url'");
}

Result<coap_address_t> coap_address_of(const Url& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (code != 0) return make_error(Code::unavailable, "'" + url.host + "': " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  coap_address_t address;
  coap_address_init(&address);
  address.size = found->ai_addrlen;
  std::memcpy(&address.addr, found->ai_addr, std::min<std::size_t>(found->ai_addrlen, sizeof address.addr));
  return address;
}

Result<std::string> read_psk(const LinkOptions& link) {
  MG_TRY(std::string key, identity::read_secret_file(link.psk_file).context("key 'psk_file'"));
  key.resize(std::min(key.find_first_of("\r\n"), key.size()));
  if (key.size() >= 16) return key;
  return make_error(Code::invalid_argument, "key 'psk_file': " + link.psk_file + " needs a line of 16 bytes or more");
}

Status check_coap_keys(const LinkOptions& link) {
  MG_TRY(const Url url, parse_coap_url(link.url));
  if (url.path.empty())
    return make_error(Code::invalid_argument, "key 'url': it needs a path, such as coap://HOST/leaf");
  const bool is_secure = url.scheme == "coaps";
  if (is_secure != !link.psk_file.empty() || is_secure != !link.psk_identity.empty())
    return make_error(Code::invalid_argument, "keys 'psk_identity' and 'psk_file': coaps:// needs both, coap:// none");
  if (is_secure) MG_RETURN_IF_ERROR(read_psk(link));
  return {};
}

void add_coap_keys(Keys& keys, LinkOptions& link) {
  keys.add("url", link.url, "coap://HOST:PORT/PATH, or coaps:// with DTLS");
  keys.add("psk_identity", link.psk_identity, "of coaps: the name of the key that both sides have");
  keys.add("psk_file", link.psk_file, "of coaps: file with that key, which only its owner may read");
}

}  // namespace mangrove::sensors

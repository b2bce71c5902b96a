#pragma once

#include <coap3/coap.h>

#include <memory>
#include <string>

#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/sensors/source_options.h"
#include "mangrove/sensors/url.h"

namespace mangrove::sensors {

/// libcoap's state, and the descriptor by which other threads wake the one that works with it.
/// threads: one, but for wake(): any.
class CoapContext {
 public:
  /// errors: resource_exhausted.
  static Result<std::unique_ptr<CoapContext>> make();
  ~CoapContext();
  CoapContext(const CoapContext&) = delete;
  CoapContext& operator=(const CoapContext&) = delete;

  coap_context_t* get() const { return context_; }
  /// Handles what has come; waits for something, or a wake(), but no longer than this.
  void run_once(Seconds at_most);
  void wake() const;

 private:
  CoapContext(coap_context_t* context, int wake_up) : context_(context), wake_up_(wake_up) {}
  coap_context_t* const context_;
  const int wake_up_;  // an eventfd
};

/// coap://HOST:PORT/PATH or coaps://. errors: invalid_argument: names the key.
Result<Url> parse_coap_url(const std::string& text);
/// errors: unavailable (nobody knows the host).
Result<coap_address_t> coap_address_of(const Url& url);
/// The key of DTLS, one line of a file. errors: those of identity::read_secret_file().
Result<std::string> read_psk(const LinkOptions& link);
/// What both kinds of CoAP want of their keys. errors: invalid_argument.
Status check_coap_keys(const LinkOptions& link);
void add_coap_keys(Keys& keys, LinkOptions& link);

}  // namespace mangrove::sensors

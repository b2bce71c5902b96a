#include "mangrove/identity/openssl.h"

#include <openssl/err.h>

#include <ctime>

namespace mangrove::identity {

Error openssl_error(Code code, const std::string& what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  const std::string message = reason == nullptr ? what : what + ": " + reason;
  ERR_clear_error();
  return make_error(code, message);
}

Owned<BIO> reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<BIO> writer() {
  return Owned<BIO>(BIO_new(BIO_s_mem()));
}

std::string written(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return length <= 0 ? std::string() : std::string(data, static_cast<std::size_t>(length));
}

WallTime wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

Owned<X509_EXTENSION> extension(X509* issuer, X509* subject, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, subject, nullptr, nullptr, 0);
  return Owned<X509_EXTENSION>(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
}

}  // namespace mangrove::identity

#include "mangrove/identity/key.h"

#include <openssl/ec.h>
#include <openssl/pem.h>

#include <string_view>

#include "mangrove/identity/digest.h"
#include "mangrove/identity/openssl.h"

namespace mangrove::identity {
namespace {

constexpr int kLeastSecurityBits = 112;

/// Answers that there is no password. Without this callback OpenSSL would ask for one on the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

std::shared_ptr<EVP_PKEY> shared(EVP_PKEY* key) {
  return {key, EVP_PKEY_free};
}

}  // namespace

PrivateKey PrivateKey::make() {
  std::shared_ptr<EVP_PKEY> key = shared(EVP_EC_gen("P-256"));
  MG_CHECK_MSG(key != nullptr, "OpenSSL makes no key");
  return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::parse(const std::string& pem) {
  std::shared_ptr<EVP_PKEY> key = shared(PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, no_password, nullptr));
  if (key == nullptr) return openssl_error(Code::invalid_argument, "no private key in PEM form without a password");
  if (!is_strong(key.get()))
    return make_error(Code::invalid_argument, "the key is too weak: it has less than 112 bits");
  return PrivateKey(std::move(key));
}

std::string PrivateKey::pem() const {
  const Owned<BIO> text = writer();
  const int done = PEM_write_bio_PrivateKey(text.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  MG_CHECK_MSG(done == 1, "OpenSSL writes no key");
  return written(text.get());
}

std::string PrivateKey::public_hash() const {
  return identity::public_hash(key_.get());
}

std::string public_hash(EVP_PKEY* key) {
  unsigned char* bytes = nullptr;
  const int length = i2d_PUBKEY(key, &bytes);
  MG_CHECK_MSG(length > 0, "OpenSSL writes no public key");
  const std::string hash = sha256({reinterpret_cast<char*>(bytes), static_cast<std::size_t>(length)});
  OPENSSL_free(bytes);
  return hash;
}

bool is_strong(EVP_PKEY* key) {
  return EVP_PKEY_get_security_bits(key) >= kLeastSecurityBits;
}

}  // namespace mangrove::identity

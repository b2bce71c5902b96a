#include "mangrove/secure_aggregation/secret.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "mangrove/base/check.h"

namespace mangrove::secure {

Secret::~Secret() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

RandomSource system_random() {
  return [](std::span<std::uint8_t> out) {
    MG_CHECK(RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1);  // without it nothing is secret
  };
}

Secret draw_secret(const RandomSource& random) {
  Secret secret;
  random(secret.bytes());
  return secret;
}

}  // namespace mangrove::secure

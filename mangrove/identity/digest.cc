#include "mangrove/identity/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <vector>

#include "mangrove/base/check.h"

namespace mangrove::identity {
namespace {

std::string hex(const std::vector<unsigned char>& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::vector<unsigned char> digest(32);
  std::size_t length = 0;
  const int done = EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(), digest.data(), &length);
  MG_CHECK_MSG(done == 1 && length == digest.size(), "OpenSSL has no SHA-256");
  return hex(digest);
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  MG_CHECK_MSG(RAND_bytes(random.data(), static_cast<int>(bytes)) == 1, "the system gives no random bytes");
  return hex(random);
}

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace mangrove::identity

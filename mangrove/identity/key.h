#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"

struct evp_pkey_st;

namespace mangrove::identity {

/// A private key and its public half. Copies share it. threads: any thread may call any method.
class PrivateKey {
 public:
  /// Makes a new key on the curve P-256.
  static PrivateKey make();
  /// Reads the first private key in a PEM text. errors: invalid_argument (there is none, it is weaker than 112 bits, or
  /// it needs a password).
  static Result<PrivateKey> parse(const std::string& pem);

  std::string pem() const;  // PKCS #8
  /// SHA-256 of the public half (SubjectPublicKeyInfo), in hexadecimal.
  std::string public_hash() const;

  evp_pkey_st* handle() const { return key_.get(); }  // for the sources of this module

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

/// SHA-256 of the public half of any key, as PrivateKey::public_hash(). REQUIRES: `key` is not null.
std::string public_hash(evp_pkey_st* key);

/// Whether the key has at least 112 bits of security, as far as is known enough for years to come.
bool is_strong(evp_pkey_st* key);

}  // namespace mangrove::identity

#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"

struct evp_pkey_st;

namespace mangrove::identity {

/// A private key and its public half. Copies share it. threads: any thread may call any method.
class PrivateKey {
 public:
  /// A new one, on the curve P-256.
  static PrivateKey make();
  /// The first in a PEM text; it must be strong enough (112 bits) and not behind a password.
  /// errors: invalid_argument.
  static Result<PrivateKey> parse(const std::string& pem);

  std::string pem() const;  // PKCS #8
  /// SHA-256 of the public half (SubjectPublicKeyInfo), in hexadecimal.
  std::string public_hash() const;

  evp_pkey_st* handle() const { return key_.get(); }  // for the sources of this module

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

/// public_hash() of any key. REQUIRES: a key.
std::string public_hash(evp_pkey_st* key);

/// Whether the key resists for years to come, as far as is known: 112 bits of security.
bool is_strong(evp_pkey_st* key);

}  // namespace mangrove::identity

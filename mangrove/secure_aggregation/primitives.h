#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/secure_aggregation/secret.h"

// Cryptographic primitives. All of them are OpenSSL's: nothing here computes anything itself.

namespace mangrove::secure {

/// The public key of this private key. source: RFC 7748 (X25519).
Public public_key_of(const Secret& private_key);

/// What the owners of two key pairs can both compute, and nobody else. It is no key yet: see derive(). errors:
/// invalid_argument (a public key of small order, with which everybody knows the outcome). source: RFC 7748 (X25519).
Result<Secret> agree(const Secret& private_key, const Public& other);

/// A key for one purpose. source: RFC 5869 (HKDF with SHA-256, without salt).
Secret derive(const Secret& key, std::string_view purpose);

/// source: FIPS 180-4 (SHA-256).
Public digest_of(std::string_view bytes);

/// Encrypts and authenticates. A key seals one text only. context: must be the same to open it. The result is
/// kSealBytes longer than the text. source: RFC 8439 (ChaCha20-Poly1305).
std::string seal(const Secret& key, std::string_view text, std::string_view context);
constexpr std::size_t kSealBytes = 16;
/// errors: data_loss (another key, another context, or changed bytes).
Result<std::string> open_seal(const Secret& key, std::string_view sealed, std::string_view context);

/// Bytes that nobody without the key can tell from random ones: the same for the same key. threads: one at a time.
/// source: RFC 8439 (ChaCha20).
class KeyStream {
 public:
  explicit KeyStream(const Secret& key);
  KeyStream(const KeyStream&) = delete;
  KeyStream& operator=(const KeyStream&) = delete;
  ~KeyStream();

  /// The next bytes of the stream.
  void read(std::span<std::uint8_t> out);

 private:
  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
};

}  // namespace mangrove::secure

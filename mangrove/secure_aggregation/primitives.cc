#include "mangrove/secure_aggregation/primitives.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <limits>

#include "mangrove/base/check.h"

namespace mangrove::secure {
namespace {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Release<&EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Release<&EVP_PKEY_CTX_free>>;
using Kdf = std::unique_ptr<EVP_KDF, Release<&EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, Release<&EVP_KDF_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Release<&EVP_CIPHER_CTX_free>>;

/// Each key is used once, so that its nonce may be the same. ChaCha20 of OpenSSL has 4 bytes of counter in front.
constexpr std::array<std::uint8_t, 16> kNonce{};

Key private_key(const Secret& secret) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.bytes().data(), kKeyBytes));
  MG_CHECK(key != nullptr);
  return key;
}

int length_of(std::string_view text) {
  MG_CHECK(text.size() <= std::numeric_limits<int>::max());
  return static_cast<int>(text.size());
}

std::uint8_t* data_of(std::string& text) {
  return reinterpret_cast<std::uint8_t*>(text.data());
}

}  // namespace

Public public_key_of(const Secret& private_key_bytes) {
  Public key{};
  std::size_t size = key.size();
  MG_CHECK(EVP_PKEY_get_raw_public_key(private_key(private_key_bytes).get(), key.data(), &size) == 1);
  return key;
}

Result<Secret> agree(const Secret& own, const Public& other) {
  const Key key = private_key(own);
  const Key peer(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()));
  const KeyContext context(EVP_PKEY_CTX_new(key.get(), nullptr));
  MG_CHECK(peer != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1);
  MG_CHECK(EVP_PKEY_derive_set_peer(context.get(), peer.get()) == 1);
  Secret shared;
  std::size_t size = kKeyBytes;
  if (EVP_PKEY_derive(context.get(), shared.bytes().data(), &size) == 1) return shared;
  return make_error(Code::invalid_argument, "a public key of small order");
}

Secret derive(const Secret& key, std::string_view purpose) {
  const Kdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContext context(EVP_KDF_CTX_new(kdf.get()));
  MG_CHECK(context != nullptr);
  Secret input = key;  // OpenSSL asks for pointers that are not const
  std::string info(purpose), hash = "SHA256";
  const std::array parameters = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash.data(), hash.size()),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, input.bytes().data(), kKeyBytes),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
                                 OSSL_PARAM_construct_end()};
  Secret derived;
  MG_CHECK(EVP_KDF_derive(context.get(), derived.bytes().data(), kKeyBytes, parameters.data()) == 1);
  return derived;
}

Public digest_of(std::string_view bytes) {
  Public digest{};
  unsigned size = 0;
  MG_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string seal(const Secret& key, std::string_view text, std::string_view context) {
  const CipherContext cipher(EVP_CIPHER_CTX_new());
  std::string sealed(text.size() + kSealBytes, '\0');
  int size = 0;
  MG_CHECK(EVP_EncryptInit_ex(cipher.get(), EVP_chacha20_poly1305(), nullptr, key.bytes().data(), kNonce.data()) == 1);
  MG_CHECK(EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(context).data(), length_of(context)) == 1);
  MG_CHECK(EVP_EncryptUpdate(cipher.get(), data_of(sealed), &size, bytes_of(text).data(), length_of(text)) == 1);
  MG_CHECK(EVP_EncryptFinal_ex(cipher.get(), data_of(sealed) + size, &size) == 1);
  MG_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kSealBytes, data_of(sealed) + text.size()) == 1);
  return sealed;
}

Result<std::string> open_seal(const Secret& key, std::string_view sealed, std::string_view context) {
  const Error error = make_error(Code::data_loss, "what was sealed cannot be opened");
  if (sealed.size() < kSealBytes) return error;
  const CipherContext cipher(EVP_CIPHER_CTX_new());
  const std::string_view body = sealed.substr(0, sealed.size() - kSealBytes);
  std::string tag(sealed.substr(body.size())), text(body.size(), '\0');
  int size = 0;
  MG_CHECK(EVP_DecryptInit_ex(cipher.get(), EVP_chacha20_poly1305(), nullptr, key.bytes().data(), kNonce.data()) == 1);
  MG_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, kSealBytes, tag.data()) == 1);
  MG_CHECK(EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(context).data(), length_of(context)) == 1);
  MG_CHECK(EVP_DecryptUpdate(cipher.get(), data_of(text), &size, bytes_of(body).data(), length_of(body)) == 1);
  if (EVP_DecryptFinal_ex(cipher.get(), data_of(text) + size, &size) != 1) return error;
  return text;
}

struct KeyStream::Cipher {
  CipherContext context{EVP_CIPHER_CTX_new()};
};

KeyStream::KeyStream(const Secret& key) : cipher_(std::make_unique<Cipher>()) {
  EVP_CIPHER_CTX* const context = cipher_->context.get();
  MG_CHECK(EVP_EncryptInit_ex(context, EVP_chacha20(), nullptr, key.bytes().data(), kNonce.data()) == 1);
}

KeyStream::~KeyStream() = default;

void KeyStream::read(std::span<std::uint8_t> out) {
  std::ranges::fill(out, std::uint8_t{0});
  int size = 0;
  MG_CHECK(EVP_EncryptUpdate(cipher_->context.get(), out.data(), &size, out.data(), static_cast<int>(out.size())) == 1);
}

}  // namespace mangrove::secure

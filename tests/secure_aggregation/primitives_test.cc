// The adapters give what the documents of the primitives print.
#include "mangrove/secure_aggregation/primitives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "mangrove/secure_aggregation/mask.h"

namespace mangrove::secure {
namespace {

std::string bytes(std::string_view hex) {
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    text += static_cast<char>(byte);
  }
  return text;
}

Secret secret(std::string_view hex) {
  Secret result;
  const std::string text = bytes(hex);
  std::ranges::copy(bytes_of(text), result.bytes().begin());
  return result;
}

Secret counting() {
  Secret result;
  for (std::size_t i = 0; i < kKeyBytes; ++i) result.bytes()[i] = static_cast<std::uint8_t>(i);
  return result;
}

// RFC 7748, 5.2 and 6.1
TEST(Primitives, AgreeAndPublicKeysAreX25519) {
  const Secret scalar = secret("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
  const Secret u = secret("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
  Public point{};
  std::ranges::copy(u.bytes(), point.begin());
  EXPECT_EQ(text_of(agree(scalar, point)->bytes()),
            bytes("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"));
  const Secret bob = secret("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
  EXPECT_EQ(text_of(public_key_of(bob)), bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"));
}

TEST(Primitives, AKeyOfSmallOrderIsRefused) {
  for (const std::uint8_t first : {std::uint8_t{0}, std::uint8_t{1}}) {
    Public key{};
    key[0] = first;
    EXPECT_EQ(agree(counting(), key).code(), Code::invalid_argument);
  }
}

// RFC 5869 prints keys of other lengths than ours: this was computed by its formula with Python's hmac.
TEST(Primitives, DeriveIsHkdfWithSha256) {
  EXPECT_EQ(text_of(derive(counting(), "purpose").bytes()),
            bytes("c938f7c9c926b1456b39fd3811e7b2d8beccd709fed368d133553b438fb89d0b"));
  EXPECT_NE(text_of(derive(counting(), "purpose").bytes()), text_of(derive(counting(), "purposf").bytes()));
}

// FIPS 180-4's "abc"
TEST(Primitives, DigestIsSha256) {
  EXPECT_EQ(text_of(digest_of("abc")), bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

// The zero key and nonce of RFC 8439, A.1, test vectors 1 and 2: counters 0 and 1.
TEST(Primitives, AKeyStreamIsChaCha20) {
  KeyStream stream{Secret()};
  std::string out(128, 'x');
  stream.read({reinterpret_cast<std::uint8_t*>(out.data()), 40});
  stream.read({reinterpret_cast<std::uint8_t*>(out.data()) + 40, 88});
  EXPECT_EQ(out, bytes("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
                       "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
                       "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
                       "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"));
}

TEST(Primitives, WhatIsSealedOpensWithTheSameKeyAndContextOnly) {
  const std::string sealed = seal(counting(), "a share", "context");
  EXPECT_EQ(sealed.size(), 7 + kSealBytes);
  EXPECT_EQ(open_seal(counting(), sealed, "context").value(), "a share");
  EXPECT_EQ(open_seal(counting(), sealed, "contexu").code(), Code::data_loss);
  EXPECT_EQ(open_seal(Secret(), sealed, "context").code(), Code::data_loss);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(open_seal(counting(), changed, "context").code(), Code::data_loss) << i;
    EXPECT_EQ(open_seal(counting(), sealed.substr(0, i), "context").code(), Code::data_loss) << i;
  }
}

TEST(Primitives, MasksOfOneSeedCancel) {
  std::vector<std::uint32_t> words(3000, 7);
  add_mask(counting(), Sign::plus, words);
  EXPECT_NE(words, std::vector<std::uint32_t>(3000, 7));
  EXPECT_NE(words[0], words[1024]);
  add_mask(counting(), Sign::minus, words);
  EXPECT_EQ(words, std::vector<std::uint32_t>(3000, 7));
  add_mask(Secret(), Sign::plus, words);
  EXPECT_EQ(words[0], 7 + 0xade0b876u);  // little-endian words of the stream above
}

TEST(Primitives, TheSystemsRandomBytesDiffer) {
  const Secret one = draw_secret(system_random()), other = draw_secret(system_random());
  EXPECT_FALSE(std::ranges::equal(one.bytes(), other.bytes()));
}

}  // namespace
}  // namespace mangrove::secure

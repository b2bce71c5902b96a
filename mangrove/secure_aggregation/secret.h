#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace mangrove::secure {

constexpr std::size_t kKeyBytes = 32;

/// What everybody may see: a public key, or the digest of a secret.
using Public = std::array<std::uint8_t, kKeyBytes>;

/// 32 bytes that others must not see. The memory is wiped at the end of its life.
/// threads: as a plain array.
class Secret {
 public:
  Secret() = default;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  std::span<std::uint8_t, kKeyBytes> bytes() { return bytes_; }
  std::span<const std::uint8_t, kKeyBytes> bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, kKeyBytes> bytes_{};
};

inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Fills the span with bytes that nobody can predict. Tests pass bytes from a seed.
using RandomSource = std::function<void(std::span<std::uint8_t>)>;

/// The operating system's, through OpenSSL. threads: any.
RandomSource system_random();

Secret draw_secret(const RandomSource& random);

}  // namespace mangrove::secure

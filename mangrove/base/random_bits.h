#pragma once

#include <cstdint>
#include <string_view>

namespace mangrove {

/// Number `counter` of the random 64-bit numbers of `stream`: for those who need them in any order, or again. Streams
/// of neighbouring numbers are independent. source: Steele et al., Fast splittable pseudorandom number generators,
/// 2014.
constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t counter) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  return mix(mix(stream + 0x9e3779b97f4a7c15u) + (counter + 1) * 0x9e3779b97f4a7c15u);
}

/// A stream for what has this name, the same on every platform. source: FNV-1a.
constexpr std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace mangrove

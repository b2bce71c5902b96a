#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mangrove::data {

/// A sample as bytes that unpack to the same floats, bit for bit: one for each value where all are whole 255ths from 0
/// to 1, as those of images are; else the four of a float, little-endian.
std::string pack_sample(std::span<const float> sample);
/// bytes.size() is out.size() or four times that.
void unpack_sample(std::span<const std::uint8_t> bytes, std::span<float> out);

}  // namespace mangrove::data

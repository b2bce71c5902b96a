#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "mangrove/base/file.h"

namespace mangrove::data::testing {

/// An IDX file: magic number and sizes big-endian, then the elements.
std::string idx(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes, const std::string& elements);

/// `content` as a gzip stream.
std::string gzipped(const std::string& content);

/// n images of 28x28 whose pixels are (image + pixel) mod 256.
std::string counting_images(std::uint32_t n);
/// n labels 0, 1, ... 9, 0, ...
std::string counting_labels(std::uint32_t n);

/// Writes the file, and its folder before it.
void write(const fs::path& path, const std::string& content);

}  // namespace mangrove::data::testing

#include "tests/data/idx_files.h"

#include <zlib.h>

#include <fstream>

#include "mangrove/base/check.h"

namespace mangrove::data::testing {
namespace {

void append_big_endian(std::string& out, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(number >> shift & 0xff);
}

}  // namespace

std::string idx(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes, const std::string& elements) {
  std::string file;
  append_big_endian(file, magic);
  for (const std::uint32_t size : sizes) append_big_endian(file, size);
  return file + elements;
}

std::string gzipped(const std::string& content) {
  z_stream stream{};
  MG_CHECK(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  MG_CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string counting_images(std::uint32_t n) {
  std::string pixels;
  for (std::uint32_t image = 0; image < n; ++image)
    for (std::uint32_t pixel = 0; pixel < 784; ++pixel) pixels += static_cast<char>((image + pixel) % 256);
  return idx(2051, {n, 28, 28}, pixels);
}

std::string counting_labels(std::uint32_t n) {
  std::string labels;
  for (std::uint32_t i = 0; i < n; ++i) labels += static_cast<char>(i % 10);
  return idx(2049, {n}, labels);
}

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace mangrove::data::testing

#include "mangrove/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace mangrove::data {
namespace {

constexpr int kGzipWindowBits = 15 + 16;     // the largest window; +16: a gzip header, not zlib's own
constexpr std::size_t kStep = 4u << 20;      // the output grows by this much
constexpr std::size_t kMaxInput = 1u << 30;  // z_stream counts in 32 bits

Error corrupt_gzip(const std::string& what) {
  return make_error(Code::data_loss, "not a valid gzip stream: " + what);
}

/// Unpacks what fits between output.size() and `limit`, at most kStep. True at the end of the stream.
Result<bool> inflate_step(z_stream& stream, std::span<const std::uint8_t>& input, std::string& output,
                          std::size_t limit) {
  const std::size_t begin = output.size();
  output.resize(begin + std::min(kStep, limit - begin));
  stream.next_in = const_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(std::min(input.size(), kMaxInput));
  stream.next_out = reinterpret_cast<Bytef*>(output.data() + begin);
  stream.avail_out = static_cast<uInt>(output.size() - begin);
  const std::size_t offered = stream.avail_in;
  const int code = ::inflate(&stream, Z_NO_FLUSH);
  input = input.subspan(offered - stream.avail_in);
  output.resize(output.size() - stream.avail_out);
  if (code == Z_STREAM_END) return true;
  if (code == Z_BUF_ERROR || (code == Z_OK && input.empty() && stream.avail_out > 0)) return corrupt_gzip("truncated");
  if (code != Z_OK) return corrupt_gzip(stream.msg != nullptr ? stream.msg : ::zError(code));
  return false;
}

}  // namespace

Result<std::string> gunzip(std::span<const std::uint8_t> compressed, std::size_t limit) {
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipWindowBits) != Z_OK)
    return make_error(Code::resource_exhausted, "gzip: no memory to unpack with");
  const std::unique_ptr<z_stream, int (*)(z_streamp)> ender(&stream, &::inflateEnd);
  std::string output;
  while (output.size() < limit) {
    MG_TRY(const bool ended, inflate_step(stream, compressed, output, limit));
    if (!ended) continue;
    if (!compressed.empty()) return corrupt_gzip(std::to_string(compressed.size()) + " bytes follow its end");
    break;
  }
  return output;
}

}  // namespace mangrove::data

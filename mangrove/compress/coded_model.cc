#include "mangrove/compress/coded_model.h"

#include <zlib.h>

#include <charconv>
#include <climits>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/compress/coded_weights.h"
#include "mangrove/data/gzip.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::compress {
namespace {

constexpr std::string_view kMagic = "MGZ1";
constexpr std::size_t kWord = 4;  // bytes
constexpr std::size_t kLongestOutline = std::size_t{64} << 20;

void append_word(std::string& bytes, std::size_t number) {
  for (std::size_t byte = 0; byte < kWord; ++byte) bytes.push_back(static_cast<char>(number >> (8 * byte) & 0xff));
}

std::size_t word_at(std::string_view bytes, std::size_t position) {
  std::size_t number = 0;
  for (std::size_t byte = 0; byte < kWord; ++byte)
    number |= std::size_t{static_cast<unsigned char>(bytes[position + byte])} << (8 * byte);
  return number;
}

std::size_t checksum(std::string_view bytes) {
  return ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

std::string gzipped(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16, kMemoryLevel = 9;
  z_stream stream{};
  MG_CHECK(::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
           Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_streamp)> ender(&stream, &::deflateEnd);
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  MG_CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  return packed;
}

Error broken_model(const std::string& what) {
  return make_error(Code::data_loss, "not a coded model, or damaged: " + what);
}

/// The pieces of a file, as views into it.
struct Pieces {
  std::string_view outline;
  std::vector<std::string_view> messages;
};

Result<Pieces> split_pieces(std::string_view content) {
  constexpr std::size_t kHead = kMagic.size() + 2 * kWord;
  if (!is_coded_model(content) || content.size() < kHead)
    return broken_model(std::to_string(content.size()) + " bytes that do not begin with " + std::string(kMagic));
  const std::size_t outline = word_at(content, kMagic.size()), count = word_at(content, kMagic.size() + kWord);
  std::string_view rest = content.substr(kHead);
  if (count > rest.size() / kWord) return broken_model("it is too short for " + std::to_string(count) + " parameters");
  std::string_view lengths = rest.substr(0, count * kWord);
  rest.remove_prefix(lengths.size());
  if (outline > rest.size()) return broken_model("its outline is cut off");
  Pieces pieces{.outline = rest.substr(0, outline), .messages = {}};
  rest.remove_prefix(outline);
  for (; !lengths.empty(); lengths.remove_prefix(kWord)) {
    const std::size_t length = word_at(lengths, 0);
    if (length > rest.size())
      return broken_model("parameter " + std::to_string(pieces.messages.size()) + " is cut off");
    pieces.messages.push_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return broken_model(std::to_string(rest.size()) + " bytes follow its parameters");
  return pieces;
}

Result<std::string> unpacked_outline(std::string_view packed) {
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(packed.data()), packed.size());
  MG_TRY(std::string outline, data::gunzip(bytes, kLongestOutline).context("outline"));
  if (outline.size() == kLongestOutline) return broken_model("its outline has 64 MiB or more");
  return outline;
}

/// The message that a location of the outline names. Each belongs to one parameter, so that a short file cannot ask for
/// much memory.
Result<std::string_view> take_message(const std::string& location, std::vector<std::string_view>& messages) {
  std::size_t number = 0;
  const char* const end = location.data() + location.size();
  const auto [stop, error] = std::from_chars(location.data(), end, number);
  if (error != std::errc() || stop != end || number >= messages.size() || messages[number].empty())
    return broken_model("'" + location + "' is none of its " + std::to_string(messages.size()) +
                        " parameters, or is used twice");
  return std::exchange(messages[number], std::string_view());
}

}  // namespace

bool is_coded_model(std::string_view beginning) {
  return beginning.starts_with(kMagic);
}

Result<CodedModel> encode_model(const Graph& graph) {
  Bytes weights = 0;
  for (const auto& [name, tensor] : graph.initializers()) weights += tensor.bytes();
  if (weights > INT_MAX)
    return make_error(Code::out_of_range, "graph '" + graph.name() + "' has " + format_bytes(weights) +
                                              " of weights, a coded model holds 2 GiB of them at most");
  for (const std::string& name : graph.parameters())
    if (const DType dtype = graph.initializers().at(name).dtype(); dtype != DType::f32)
      return make_error(Code::unimplemented, "parameter '" + name + "' is of " + dtype_name(dtype) +
                                                 ", a coded model holds parameters of f32");
  std::vector<CodedWeights> coded;
  const std::string outline = encode_onnx_outline(graph, 0, [&](const Tensor& parameter) {
    coded.push_back(encode_weights(parameter));
    return std::to_string(coded.size() - 1);
  });
  MG_TRY(const OnnxOutline known, parse_onnx_outline(outline));
  CodedModel model;
  for (const auto& [name, location] : known.locations) {
    const CodedWeights& weights_of = coded[std::stoul(location)];
    model.parameters.push_back({name, known.graph.value(name).shape.elements(), weights_of.kept, weights_of.values,
                                static_cast<Bytes>(weights_of.message.size())});
  }
  const std::string packed = gzipped(outline);
  model.bytes = kMagic;
  append_word(model.bytes, packed.size());
  append_word(model.bytes, coded.size());
  for (const CodedWeights& one : coded) append_word(model.bytes, one.message.size());
  model.bytes += packed;
  for (const CodedWeights& one : coded) model.bytes += one.message;
  append_word(model.bytes, checksum(model.bytes));
  return model;
}

Result<Graph> parse_model(std::string_view bytes) {
  if (bytes.size() < kWord) return broken_model("it has " + std::to_string(bytes.size()) + " bytes");
  const std::string_view content = bytes.substr(0, bytes.size() - kWord);
  if (checksum(content) != word_at(bytes, content.size())) return broken_model("its checksum is of other bytes");
  return parse_model_content(content);
}

Result<Graph> parse_model_content(std::string_view content) {
  MG_TRY(Pieces pieces, split_pieces(content));
  MG_TRY(const std::string text, unpacked_outline(pieces.outline));
  MG_TRY(const OnnxOutline outline, parse_onnx_outline(text));
  std::map<std::string, Tensor> weights;
  for (const auto& [name, location] : outline.locations) {
    MG_TRY(const std::string_view message, take_message(location, pieces.messages));
    const Tensor& placeholder = outline.graph.initializers().at(name);
    if (placeholder.dtype() != DType::f32) return broken_model("parameter '" + name + "' is not of f32");
    MG_TRY(Tensor decoded, decode_weights(message, placeholder.shape()).context("parameter '" + name + "'"));
    weights.emplace(name, std::move(decoded));
  }
  return outline.graph.with_initializers(weights);
}

}  // namespace mangrove::compress

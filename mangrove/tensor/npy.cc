#include "mangrove/tensor/npy.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mangrove {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it
constexpr std::pair<DType, std::string_view> kTypeCodes[] = {
    {DType::f32, "<f4"}, {DType::f64, "<f8"}, {DType::i32, "<i4"},    {DType::i64, "<i8"},
    {DType::u8, "|u1"},  {DType::i8, "|i1"},  {DType::boolean, "|b1"}};

Error corrupt_npy(const std::string& what) {
  return make_error(Code::data_loss, "npy: " + what);
}

std::string_view type_code(DType dtype) {
  return std::find_if(std::begin(kTypeCodes), std::end(kTypeCodes), [&](const auto& row) { return row.first == dtype; })
      ->second;
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads a Python literal of the form {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  std::optional<Header> read() {
    Header header;
    int seen = 0;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':') || !value(*key, header)) return std::nullopt;
      ++seen;
      if (!take(',') && !next_is('}')) return std::nullopt;
    }
    skip_space();
    if (seen != 3 || !rest_.empty()) return std::nullopt;
    return header;
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size())); }

  bool next_is(char c) {
    skip_space();
    return !rest_.empty() && rest_[0] == c;
  }

  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> string() {
    const char quote = next_is('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool value(const std::string& key, Header& header) {
    if (key == "shape") return tuple(header.shape);
    if (key == "fortran_order") return (header.fortran_order = take_word("True")) || take_word("False");
    if (key != "descr") return false;
    const auto text = string();
    header.descr = text.value_or("");
    return text.has_value();
  }

  bool tuple(std::vector<std::int64_t>& sizes) {
    sizes.clear();
    if (!take('(')) return false;
    while (!take(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (code != std::errc() || size < 0) return false;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      sizes.push_back(size);
      if (!take(',') && !next_is(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

/// Where the header lies in the file, by the version's length field.
Result<std::string_view> header_text(std::string_view bytes) {
  constexpr std::size_t kVersion = kMagic.size(), kLength = kVersion + 2;
  if (!bytes.starts_with(kMagic)) return corrupt_npy("not an npy file");
  if (bytes.size() < kLength) return corrupt_npy("the file ends in its header");
  const int version = static_cast<unsigned char>(bytes[kVersion]);
  if (version < 1 || version > 3) return corrupt_npy("version " + std::to_string(version) + ", expected 1 to 3");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < kLength + length_bytes) return corrupt_npy("the file ends in its header");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[kLength + i]);
  const std::string_view rest = bytes.substr(kLength + length_bytes);
  if (length > rest.size()) return corrupt_npy("the header is longer than the file, which may be truncated");
  return rest.substr(0, length);
}

Result<DType> parse_type(const std::string& descr) {
  for (const auto& [dtype, code] : kTypeCodes) {
    if (descr == code || descr == "=" + std::string(code.substr(1))) return dtype;
  }
  return make_error(Code::unimplemented,
                    "npy: elements of type '" + descr + "', expected one of <f4, <f8, <i4, <i8, |u1, |i1, |b1");
}

/// Whether a shape has exactly so many elements; no product overflows, not even beside a 0.
bool holds(const std::vector<std::int64_t>& shape, std::size_t elements) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    empty = empty || dim == 0;
    if (dim == 0) continue;
    if (product > kMost / dim) return false;
    product *= dim;
  }
  return elements == (empty ? 0 : static_cast<std::size_t>(product));
}

}  // namespace

std::string encode_npy(const Tensor& tensor) {
  std::string header = "{'descr': '" + std::string(type_code(tensor.dtype())) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : tensor.shape()) header += std::to_string(dim) + ", ";
  header += "), }";
  const std::size_t before = kMagic.size() + 4;
  header.append((2 * kAlignment - (before + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  return out;
}

Result<Tensor> parse_npy(std::string_view bytes) {
  MG_TRY(const std::string_view text, header_text(bytes));
  const auto header = HeaderReader(text).read();
  if (!header) return corrupt_npy("malformed header");
  MG_TRY(const DType dtype, parse_type(header->descr));
  if (header->fortran_order && header->shape.size() > 1) {
    return make_error(Code::unimplemented, "npy: the array is in Fortran order; save np.ascontiguousarray(x)");
  }
  const std::string_view data = bytes.substr(static_cast<std::size_t>(text.data() - bytes.data()) + text.size());
  if (data.size() % size_of(dtype) != 0 || !holds(header->shape, data.size() / size_of(dtype))) {
    return corrupt_npy("an array of type '" + header->descr + "' and shape " + to_string(Shape(header->shape)) +
                       " does not fit the " + std::to_string(data.size()) + " bytes of data, which may be truncated");
  }
  Tensor tensor(dtype, Shape(header->shape));
  std::copy(data.begin(), data.end(), reinterpret_cast<char*>(tensor.data()));
  if (dtype == DType::boolean) {  // a bool may be nothing but 0 or 1
    std::transform(data.begin(), data.end(), reinterpret_cast<char*>(tensor.data()),
                   [](char c) { return static_cast<char>(c != 0); });
  }
  return tensor;
}

}  // namespace mangrove

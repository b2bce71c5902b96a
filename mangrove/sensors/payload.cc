#include "mangrove/sensors/payload.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>

#include "mangrove/base/printable.h"
#include "mangrove/base/table.h"

namespace mangrove::sensors {
namespace {

using nlohmann::json;

constexpr int kDeepest = 32;
constexpr std::size_t kMostNumbers = 1'000'000, kLongestId = 200;
constexpr Seconds kLatestTime = 9'223'372'036;  // 2262, beyond which nanoseconds do not fit 64 bits

/// Builds the value, and gives up where lists and objects are nested too deeply: the reader of CBOR calls itself for
/// each level, so a short message could take the whole stack.
class BoundedDom : public nlohmann::detail::json_sax_dom_parser<json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<json>;
  explicit BoundedDom(json& value) : Base(value, false) {}

  bool start_object(std::size_t members) { return enter() && Base::start_object(members); }
  bool start_array(std::size_t elements) { return enter() && Base::start_array(elements); }
  bool end_object() { return leave() && Base::end_object(); }
  bool end_array() { return leave() && Base::end_array(); }
  bool is_too_deep() const { return depth_ > kDeepest; }

 private:
  bool enter() { return ++depth_ <= kDeepest; }
  bool leave() { return --depth_ >= 0; }
  int depth_ = 0;
};

Result<json> parse_fields(std::string_view bytes, json::input_format_t format, const char* name) {
  json root;
  BoundedDom dom(root);
  bool is_whole = false;
  try {
    is_whole = json::sax_parse(bytes.begin(), bytes.end(), &dom, format);
  } catch (const std::exception&) {
    is_whole = false;  // e.g. a list that claims more elements than memory could hold
  }
  if (dom.is_too_deep())
    return make_error(Code::invalid_argument, "lists and objects lie deeper in one another than 32 levels");
  if (!is_whole) return make_error(Code::invalid_argument, std::string("it is not ") + name);
  return root;
}

/// errors: invalid_argument: there is nothing at this pointer.
Result<const json*> at_pointer(const json& root, const std::string& pointer) {
  const json::json_pointer place(pointer);
  if (!root.contains(place)) return make_error(Code::invalid_argument, "it has nothing at '" + pointer + "'");
  return &root.at(place);
}

Status add_number(double number, const PayloadOptions& options, std::vector<float>& values) {
  const auto value = static_cast<float>(number * options.scale + options.offset);
  if (!std::isfinite(value)) return make_error(Code::invalid_argument, "a number is not finite");
  if (values.size() >= kMostNumbers) return make_error(Code::invalid_argument, "it has more than 1,000,000 numbers");
  values.push_back(value);
  return {};
}

/// A number, or the numbers of lists in lists, in their order.
Status add_numbers(const json& value, const PayloadOptions& options, std::vector<float>& values) {
  if (value.is_number()) return add_number(value.get<double>(), options, values);
  if (!value.is_array())
    return make_error(Code::invalid_argument,
                      std::string("expected a number or a list of numbers, found ") + value.type_name());
  for (const json& element : value) MG_RETURN_IF_ERROR(add_numbers(element, options, values));
  return {};
}

Result<Seconds> read_time(const json& value, double seconds_per_tick) {
  if (!value.is_number()) return make_error(Code::invalid_argument, "the time is no number");
  const Seconds time = value.get<double>() * seconds_per_tick;
  if (time >= 0 && time < kLatestTime) return time;
  return make_error(Code::invalid_argument, "the time is not between the years 1970 and 2262");
}

Result<std::string> read_id(const json& value) {
  std::string id = value.is_string() ? value.get<std::string>() : value.is_number_integer() ? value.dump() : "";
  if (!id.empty() && id.size() <= kLongestId && id == printable(id)) return id;
  return make_error(Code::invalid_argument, "the id is no text of 1 to 200 printable bytes");
}

bool is_pointer(const std::string& text) {
  return text.starts_with('/');
}

Result<Reading> read_fields(const json& root, const PayloadOptions& options) {
  Reading reading;
  MG_TRY(const json* const value, at_pointer(root, options.value));
  MG_RETURN_IF_ERROR(add_numbers(*value, options, reading.values));
  if (reading.values.empty()) return make_error(Code::invalid_argument, "it has no numbers");
  if (!options.time.empty()) {
    MG_TRY(const json* const time, at_pointer(root, options.time));
    MG_TRY(reading.time, read_time(*time, options.seconds_per_tick));
  }
  if (is_pointer(options.id)) {
    MG_TRY(const json* const id, at_pointer(root, options.id));
    MG_TRY(reading.id, read_id(*id));
  }
  return reading;
}

Result<Reading> decode_json(std::string_view bytes, const PayloadOptions& options) {
  MG_TRY(const json root, parse_fields(bytes, json::input_format_t::json, "JSON"));
  return read_fields(root, options);
}

Result<Reading> decode_cbor(std::string_view bytes, const PayloadOptions& options) {
  MG_TRY(const json root, parse_fields(bytes, json::input_format_t::cbor, "CBOR"));
  return read_fields(root, options);
}

Result<Reading> decode_f32(std::string_view bytes, const PayloadOptions& options) {
  if (bytes.empty() || bytes.size() % sizeof(float) != 0)
    return make_error(Code::invalid_argument,
                      "it has " + std::to_string(bytes.size()) + " bytes: expected 4 for each number");
  Reading reading;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < sizeof(float); ++i)
      bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    MG_RETURN_IF_ERROR(add_number(static_cast<double>(std::bit_cast<float>(bits)), options, reading.values));
  }
  return reading;
}

Result<Reading> decode_u8(std::string_view bytes, const PayloadOptions& options) {
  if (bytes.empty()) return make_error(Code::invalid_argument, "it is empty");
  Reading reading;
  for (const char byte : bytes)
    MG_RETURN_IF_ERROR(add_number(static_cast<unsigned char>(byte), options, reading.values));
  return reading;
}

Result<Reading> decode_image_later(std::string_view bytes, const PayloadOptions& /*options*/) {
  if (bytes.empty()) return make_error(Code::invalid_argument, "it is empty");
  return Reading{};
}

constexpr PayloadFormat kFormats[] = {
    {"json", "a number, a list of numbers, or an object in which `value` leads to them", true, false, &decode_json},
    {"cbor", "the same as RFC 8949 writes it", true, false, &decode_cbor},
    {"f32", "raw little-endian 32-bit floats", false, false, &decode_f32},
    {"u8", "raw bytes, each a number from 0 to 255", false, false, &decode_u8},
    {"image", "a JPEG, PNG, PPM or PGM file, prepared as the network's training samples were", false, true,
     &decode_image_later},
};

Status check_pointer(const std::string& key, const std::string& pointer, const PayloadFormat& format) {
  if (pointer.empty()) return {};
  if (!format.has_fields)
    return make_error(Code::invalid_argument, "key '" + key + "': payload '" + format.name +
                                                  "' has no fields to which '" + pointer + "' leads");
  try {
    const json::json_pointer parsed(pointer);
  } catch (const json::exception&) {
    return make_error(Code::invalid_argument,
                      "key '" + key + "': '" + pointer + "' is no JSON pointer, such as /values/temperature");
  }
  return {};
}

}  // namespace

std::span<const PayloadFormat> payload_formats() {
  return kFormats;
}

Result<const PayloadFormat*> find_payload_format(std::string_view name) {
  return find_row(kFormats, name, "unknown payload");
}

Status check_payload_options(const PayloadOptions& options) {
  const auto format = find_payload_format(options.format);
  if (!format.ok()) return make_error(Code::invalid_argument, format.error().message);
  MG_RETURN_IF_ERROR(check_pointer("value", options.value, **format));
  MG_RETURN_IF_ERROR(check_pointer("time", options.time, **format));
  return is_pointer(options.id) ? check_pointer("id", options.id, **format) : Status();
}

Result<Reading> decode_payload(std::string_view bytes, const PayloadOptions& options) {
  MG_TRY(const PayloadFormat* const format, find_payload_format(options.format));
  return format->decode(bytes, options);
}

std::string little_endian(std::span<const float> values) {
  std::string bytes;
  bytes.reserve(values.size() * sizeof(float));
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (std::size_t i = 0; i < sizeof(float); ++i) bytes += static_cast<char>((bits >> (8 * i)) & 0xff);
  }
  return bytes;
}

}  // namespace mangrove::sensors

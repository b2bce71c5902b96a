#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// How the numbers of a message are found.
struct PayloadOptions {
  std::string format = "json";   // a row of payload_formats()
  std::string value = "";        // JSON pointer (RFC 6901) to the number or numbers; "": the whole message
  std::string time = "";         // JSON pointer to the time of the measurement; "": the arrival counts
  std::string id = "";           // JSON pointer to the message's id, or a template of its topic; "": it gets one here
  double seconds_per_tick = 1;   // of that time, which counts from 1970: 0.001 for milliseconds
  double scale = 1, offset = 0;  // each number becomes number * scale + offset
};

/// What a message says.
struct Reading {
  std::vector<float> values;           // finite; empty: an image, which the served network prepares
  std::optional<Seconds> time = {};    // since 1970
  std::optional<std::string> id = {};  // of the sender
};

/// A kind of payload: its row says all that others need to know.
struct PayloadFormat {
  const char* name;
  const char* help;
  bool has_fields;  // so that pointers can lead somewhere
  bool is_image;
  /// errors: invalid_argument; does not name the source.
  Result<Reading> (*decode)(std::string_view bytes, const PayloadOptions& options);
};

std::span<const PayloadFormat> payload_formats();
/// errors: not_found.
Result<const PayloadFormat*> find_payload_format(std::string_view name);

/// errors: invalid_argument (an unknown format, a pointer that is none, or that a format without fields cannot follow).
Status check_payload_options(const PayloadOptions& options);

/// Reads a message, which may come from anybody: nesting, numbers and times are checked.
/// errors: invalid_argument (malformed, too deep, nothing at a pointer, no number, not finite as f32, more than a
/// million numbers; a time before 1970 or after 2262; an id that is no text of 1 to 200 printable bytes).
Result<Reading> decode_payload(std::string_view bytes, const PayloadOptions& options);

/// Numbers as raw little-endian f32, as the format `f32` reads them.
std::string little_endian(std::span<const float> values);

}  // namespace mangrove::sensors

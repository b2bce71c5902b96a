#include "mangrove/serve/protocol/trace_context.h"

#include "mangrove/identity/digest.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kTraceParentLength = 55;  // of version 00: "00-" trace id "-" parent id "-" flags
constexpr std::size_t kTraceAt = 3, kTraceDigits = 32;
constexpr std::size_t kParentAt = 36, kParentDigits = 16;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kTraceIdBytes = 16;

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool are_digits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_id(std::string_view text) {
  return are_digits(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view given) {
  const std::string_view text = without_blanks(given);
  if (text.size() < kTraceParentLength) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(kTraceAt, kTraceDigits), parent = text.substr(kParentAt, kParentDigits);
  const bool is_divided = text[kTraceAt - 1] == '-' && text[kParentAt - 1] == '-' && text[kFlagsAt - 1] == '-';
  if (!is_divided || !are_digits(version) || version == "ff" || !is_id(trace) || !is_id(parent) ||
      !are_digits(text.substr(kFlagsAt, 2)))
    return std::nullopt;
  const bool has_more = text.size() > kTraceParentLength;
  if (has_more && (version == "00" || text[kTraceParentLength] != '-')) return std::nullopt;
  return TraceContext{.trace_id = std::string(trace), .parent_id = std::string(parent)};
}

TraceContext trace_of(std::string_view traceparent) {
  if (std::optional<TraceContext> given = parse_traceparent(traceparent)) return *std::move(given);
  return {.trace_id = identity::random_hex(kTraceIdBytes), .parent_id = ""};
}

}  // namespace mangrove::serve

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mangrove::serve {

/// The place of a request in a distributed trace: which trace it belongs to, and which span of it asked.
/// source: W3C Recommendation, Trace Context (Level 1), 23 November 2021.
struct TraceContext {
  std::string trace_id;   // 32 hexadecimal digits in small letters, not all 0
  std::string parent_id;  // 16 of them: the span that asked; "": the trace begins here
};

/// Reads the value of the header `traceparent`. Blanks around it do not count. A version that is not known here is read
/// as version 00, and may have more behind it, as section 3.2.4 says. Nothing: it is malformed (another length, capital
/// letters, version ff, an id of zeros).
std::optional<TraceContext> parse_traceparent(std::string_view text);

/// The trace that `traceparent` names, or a new one where it is malformed or "". The id of a new trace is random.
TraceContext trace_of(std::string_view traceparent);

}  // namespace mangrove::serve

#pragma once

#include <string>
#include <string_view>

namespace mangrove::serve {

constexpr const char* kEventStream = "text/event-stream";
/// What is sent where there is nothing to tell: the one who reads it passes over it.
constexpr const char* kNoEvent = ": nothing new\n\n";

/// An event of a stream of server-sent events. data: one line. Source: the HTML standard, "Server-sent events".
std::string server_event(std::string_view name, std::string_view data);

}  // namespace mangrove::serve

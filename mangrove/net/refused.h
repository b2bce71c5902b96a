#pragma once

#include <functional>

namespace mangrove::net {

/// What a process refuses of its peers: calls of strangers and of members that may not make them, links beyond the
/// limit, messages that would fill the memory, and messages of ranks that are another's.
enum class Refused { caller, link, message_without_room, rank };

/// Told of each. Called from any thread, perhaps under a lock: it must not call back.
using OnRefused = std::function<void(Refused)>;

}  // namespace mangrove::net

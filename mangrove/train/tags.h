#pragma once

#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// What the messages of messages.proto are sent as.
constexpr net::Tag kHelloTag = 1;   // worker to server: Hello
constexpr net::Tag kWorkTag = 2;    // server to worker: payload of Work and parameters
constexpr net::Tag kAnswerTag = 3;  // worker to server: payload of Answer and gradient
constexpr net::Tag kPartTag = 4;    // worker to worker: payload of Part and floats

}  // namespace mangrove::train

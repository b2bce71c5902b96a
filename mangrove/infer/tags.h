#pragma once

#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// The tags of the messages in messages.proto.
constexpr net::Tag kCommandTag = 1;                                               // leader to node: Command
constexpr net::Tag kFromNodeTag = 2;                                              // node to leader: FromNode
constexpr net::Tag kActivationTag = net::make_tag(net::Purpose::activations, 3);  // node to node: Activation and values
constexpr net::Tag kProbeTag = 4;                                                 // node to node: Probe
constexpr net::Tag kNetworkTag = net::make_tag(net::Purpose::parameters, 5);      // leader to node: NetworkPart
constexpr net::Tag kFrameTag = 6;  // leader to itself, empty: a frame has come

}  // namespace mangrove::infer

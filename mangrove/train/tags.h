#pragma once

#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// The tags of the messages in messages.proto.
constexpr net::Tag kHelloTag = 1;                                            // worker to server: Hello
constexpr net::Tag kWorkTag = net::make_tag(net::Purpose::parameters, 2);    // server to worker: Work and parameters
constexpr net::Tag kAnswerTag = net::make_tag(net::Purpose::gradients, 3);   // worker to server: Answer and gradient
constexpr net::Tag kPartTag = net::make_tag(net::Purpose::gradients, 4);     // worker to worker: Part of a sum
constexpr net::Tag kValuesTag = net::make_tag(net::Purpose::parameters, 5);  // worker to worker: Part of the values
constexpr net::Tag kShardTag = 6;                                            // ShardMessage: who has and wants what
constexpr net::Tag kShardBytesTag = net::make_tag(net::Purpose::data, 7);    // ShardMessage: list, part
constexpr net::Tag kStageTag =
    net::make_tag(net::Purpose::activations, 8);  // stage to stage: Part of values, gradients

}  // namespace mangrove::train

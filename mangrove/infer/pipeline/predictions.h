#pragma once

#include <cstdint>
#include <span>

#include "mangrove/infer/messages.pb.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// What is said of frames that a client pushes, besides their classes.
struct FrameDetails {
  bool confidence = false;  // of images and of values
  bool scores = false;      // of values
};

/// Adds the classes of `count` samples. scores: the network's outputs, a row for each sample.
void add_predictions(std::span<const float> scores, std::int64_t count, const FrameDetails& details,
                     Predictions& predictions);

/// Tells the leader that a micro-batch has missed its deadline and was dropped.
void send_missed(net::Endpoint& endpoint, std::uint64_t generation, std::uint64_t micro_batch);

}  // namespace mangrove::infer

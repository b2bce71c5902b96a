#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::zoo {

/// The last node of a new head that has no weights: all before and including it can be frozen.
constexpr const char* kHeadFeatures = "head.flatten";

/// A network for other samples and other classes, from one that has learnt: what lies before its last global average
/// pooling (the backbone) stays as it is, with its weights; behind it comes a new head: global average pooling
/// "head.pool", "head.flatten", dropout "head.dropout" of 0.2 and a dense layer "head.fc" that starts as Glorot &
/// Bengio have it. Metadata are left out. The backbone of a transformer without such a pooling is what lies before its
/// last dense layer, and its new head has no "head.pool".
///
/// network  a classifier of images: one input [N, C, H, W], a GlobalAveragePool, or a ReduceMean over height and width,
///          or attention (a MatMul of what a Softmax gives) and a dense layer [N, features] at the end
/// sample   [C, H, W]: the network is made for it where its operators allow
/// errors: invalid_argument (no such pooling, another number of inputs, samples that do not fit: names what).
Result<Graph> with_new_head(const Graph& network, const Shape& sample, std::int64_t classes, std::uint64_t seed);

}  // namespace mangrove::zoo

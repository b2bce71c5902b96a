#pragma once

#include "mangrove/graph/graph.h"

namespace mangrove {

/// logits = ten times the means of the three colours of images [N, 3, 4, 4].
inline GraphParts colour_classifier() {
  GraphParts parts;
  parts.name = "colours";
  parts.inputs = {{"image", {DType::f32, {kBatch, 3, 4, 4}}}};
  parts.outputs = {"logits"};
  parts.initializers["ten"] = Tensor::of<float>({3, 3}, {10, 0, 0, 0, 10, 0, 0, 0, 10});
  parts.nodes = {
      Node{.name = "mean", .op = "GlobalAveragePool", .attributes = {}, .inputs = {"image"}, .outputs = {"m"}},
      Node{.name = "flat", .op = "Flatten", .attributes = {}, .inputs = {"m"}, .outputs = {"f"}},
      Node{.name = "dense", .op = "Gemm", .attributes = {}, .inputs = {"f", "ten"}, .outputs = {"logits"}}};
  return parts;
}

}  // namespace mangrove

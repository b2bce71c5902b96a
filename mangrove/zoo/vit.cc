#include <cmath>
#include <string>
#include <vector>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

struct Size {
  const char* name;
  std::int64_t width;
  std::int64_t heads;  // of 64 features each
};

// table 1 of Touvron et al.; "b" is table 1 of Dosovitskiy et al.
constexpr Size kSizes[] = {{"ti", 192, 3}, {"s", 384, 6}, {"b", 768, 12}};
constexpr int kDepth = 12;
constexpr std::int64_t kPatch = 16;
constexpr float kEpsilon = 1e-6f;

Initializer vit_weights() {
  return truncated_normal(0.02);
}

/// Features [first, first + width) of x [N, T, C] as heads, in this order of their dimensions [N, T, heads, features].
Value heads_of(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t first, const Size& size,
               const std::vector<std::int64_t>& order) {
  const auto vector = [](std::int64_t value) { return Tensor::of<std::int64_t>(Shape{1}, {value}); };
  Value y = network.apply(name + ".slice", "Slice", {x},
                          {{"starts", vector(first)}, {"ends", vector(first + size.width)}, {"axes", vector(2)}});
  y = reshape(network, name + ".split", y, {0, x.shape[1], size.heads, size.width / size.heads});
  return transpose(network, name, y, order);
}

/// Self-attention of several heads over x [N, T, C].
/// source: Vaswani et al., Attention is all you need, NIPS 2017, section 3.2.
Value attention(NetworkBuilder& network, const std::string& name, const Value& x, const Size& size) {
  const std::int64_t features = size.width / size.heads;
  const float scale = 1 / std::sqrt(static_cast<float>(features));
  const Value all = linear(network, name + ".qkv", x, 3 * size.width, vit_weights());
  const Value queries = heads_of(network, name + ".q", all, 0, size, {0, 2, 1, 3});
  const Value keys = heads_of(network, name + ".k", all, size.width, size, {0, 2, 3, 1});
  const Value values = heads_of(network, name + ".v", all, 2 * size.width, size, {0, 2, 1, 3});
  const Value scaled = network.apply(name + ".scale", "Mul", {queries}, {{"by", Tensor::of<float>(Shape{}, {scale})}});
  Value y = network.apply(name + ".scores", "MatMul", {scaled, keys});
  y = network.apply(name + ".softmax", "Softmax", {y}, {}, {{"axis", std::int64_t{-1}}});
  y = network.apply(name + ".mix", "MatMul", {y, values});
  y = transpose(network, name + ".together", y, {0, 2, 1, 3});
  y = reshape(network, name + ".join", y, {0, x.shape[1], size.width});
  return linear(network, name + ".out", y, size.width, vit_weights());
}

Value encoder_block(NetworkBuilder& network, const std::string& name, const Value& x, const Size& size) {
  const Value normal = layer_norm(network, name + ".norm1", x, kEpsilon);
  const Value y = network.add(name + ".add1", x, attention(network, name + ".attention", normal, size));
  Value f = layer_norm(network, name + ".norm2", y, kEpsilon);
  f = linear(network, name + ".fc1", f, 4 * size.width, vit_weights());
  f = gelu(network, name + ".gelu", f);
  return network.add(name + ".add2", y, linear(network, name + ".fc2", f, size.width, vit_weights()));
}

/// A class token and the patches of each image, with what says where they are: [N, 1 + patches, width].
Value embedded(NetworkBuilder& network, std::int64_t patch, std::int64_t width) {
  Value x = network.conv("patches", network.input(), width, {.kernel = patch, .stride = patch, .pad = 0, .bias = true});
  x = transpose(network, "sequence", reshape(network, "flat", x, {0, width, -1}), {0, 2, 1});
  const Tensor for_each = Tensor::of<std::int64_t>(Shape{3}, {kBatch, 1, width});
  const Value token = network.parameter("class_token", Shape{1, 1, width}, vit_weights());
  const Value tokens = network.apply("class_tokens", "Expand", {token}, {{"shape", for_each}});
  x = network.concat("tokens", {tokens, x});
  return network.add("positions", x,
                     network.parameter("positions.embedding", Shape{1, x.shape[1], width}, vit_weights()));
}

/// Vision transformer "vit-S-P" of size S (ti, s or b) with patches of P x P pixels (16 where left out): 5.7, 22 and 87
/// M parameters and 1.3, 4.6 and 17.6 G multiply-adds for samples [3, 224, 224] and 1,000 classes. No dropout, as in
/// DeiT. What is left of the image beside whole patches is not seen. source: Dosovitskiy et al., An image is worth
/// 16x16 words, ICLR 2021; sizes ti and s: Touvron et al., Training data-efficient image transformers & distillation
/// through attention, ICML 2021.
Result<Graph> build_vit(const Variant& variant, const ModelOptions& options) {
  const Size* size = nullptr;
  for (const Size& one : kSizes) {
    if (variant.has(0, one.name)) size = &one;
  }
  const auto patch = variant.size() > 1 ? variant.whole(1, 1, 64) : kPatch;
  if (size == nullptr || !patch || variant.size() > 2) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, vit_weights());
  Value x = embedded(network, *patch, size->width);
  for (int i = 1; i <= kDepth; ++i) x = encoder_block(network, "block" + std::to_string(i), x, *size);
  x = network.apply("token", "Gather", {x}, {{"first", Tensor::of<std::int64_t>(Shape{}, {0})}},
                    {{"axis", std::int64_t{1}}});
  x = network.dense("fc", layer_norm(network, "norm", x, kEpsilon), options.classes);
  return std::move(network).finish(x);
}

}  // namespace

Family rows::vit() {
  return {.names = {"vit", "vit-S-P, size S one of ti, s, b, patches of P x P pixels (16 where left out)",
                    "vision transformers", "Dosovitskiy et al., ICLR 2021"},
          .sample = Sample::image,
          .build = &build_vit,
          .models = {{"vit-ti", {3, 224, 224}, 1000, 5'717'416, 1'253'683'200},
                     {"vit-s", {3, 224, 224}, 1000, 22'050'664, 4'598'882'304},
                     {"vit-b", {3, 224, 224}, 1000, 86'567'656, 17'563'828'224}}};
}

}  // namespace mangrove::zoo

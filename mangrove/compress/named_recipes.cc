#include "mangrove/compress/recipe.h"

namespace mangrove::compress {
namespace {

constexpr NamedRecipe kRecipes[] = {
    {"deep_compression", "prune to 8 % of the weights, share 2^8 and 2^5 values (Han et al. 2016)",
     R"(# Deep Compression: pruning, trained quantization; the coding is the form of the file.
# Han, Mao & Dally, Deep Compression, ICLR 2016.
- prune: {keep: 0.08, rounds: 4, epochs: 2, learning_rate: 0.03, weight_decay: 0.0005}
- share: {conv_bits: 8, fc_bits: 5, epochs: 2}
)"},
    {"smallest", "prune to 5 % of the weights in more rounds, share 2^6 and 2^5 values",
     R"(# Few weights: for networks with more of them than their task needs. Weight decay makes small weights smaller before
# they go, and keeps those that stay from learning the training samples by heart.
- prune: {keep: 0.05, rounds: 8, epochs: 2, learning_rate: 0.05, weight_decay: 0.001}
- train: {epochs: 6, learning_rate: 0.05, weight_decay: 0.0005}
- share: {conv_bits: 6, fc_bits: 5, epochs: 2, learning_rate: 0.0002}
)"},
};

}  // namespace

std::span<const NamedRecipe> named_recipes() {
  return kRecipes;
}

}  // namespace mangrove::compress

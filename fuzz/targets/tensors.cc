#include "fuzz/targets/tensors.h"

#include "mangrove/learn/checkpoint.h"
#include "mangrove/tensor/npy.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::fuzz {

void checkpoint(std::string_view bytes) {
  const auto read = learn::parse_checkpoint(bytes);
  if (read.ok()) static_cast<void>(learn::parse_checkpoint(learn::encode_checkpoint(*read)));
}

void npy(std::string_view bytes) {
  const auto read = parse_npy(bytes);
  if (read.ok()) static_cast<void>(parse_npy(encode_npy(*read)));
}

void safetensors(std::string_view bytes) {
  const auto read = parse_safetensors(bytes);
  if (read.ok()) static_cast<void>(parse_safetensors(encode_safetensors(*read)));
}

}  // namespace mangrove::fuzz

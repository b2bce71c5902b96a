#pragma once

#include <map>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// The content of a file in safetensors format: named tensors and string metadata.
/// format: https://github.com/huggingface/safetensors (u64 little-endian header length, JSON header, raw little-endian
/// data)
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The format's names are UTF-8: other bytes in them are replaced.
std::string encode_safetensors(const TensorFile& file);

/// errors: data_loss (truncated, header not JSON, offsets outside the data, overlapping or wrong in size),
/// unimplemented (an element type that Tensor lacks). Never trusts a length: allocates no more than `bytes` has.
Result<TensorFile> parse_safetensors(std::string_view bytes);

}  // namespace mangrove

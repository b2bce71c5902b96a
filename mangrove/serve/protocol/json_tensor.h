#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/json_tree.h"
#include "mangrove/serve/protocol/request_parameters.h"

namespace mangrove::serve {

// Tensors of the Open Inference Protocol in JSON, or as bytes behind it: of requests and of answers. What is read comes
// from anybody.

/// Null: the object has no such key.
const nlohmann::json* json_member(const nlohmann::json& object, const char* key);
/// errors: invalid_argument (there is none, or it is no text; names the key).
Result<std::string> text_member(const nlohmann::json& object, const char* key);
/// The parameters of a message or a tensor. They live as long as `object`. errors: invalid_argument (no object).
Result<FindParameter> json_parameters(const nlohmann::json& object);

/// Takes the bytes of tensors one after the other from behind the JSON.
class BinaryParts {
 public:
  /// is_there: whether the message says where its JSON ends.
  BinaryParts(std::string_view bytes, bool is_there) : rest_(bytes), is_there_(is_there) {}
  /// errors: invalid_argument (no number of bytes, more than there are, or none are expected).
  Result<std::string_view> take(const ParameterValue& size);
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool is_there_;
};

/// Reads a tensor with its `datatype` and `shape`, whose elements are in its `data`, which are in tree.elements, or
/// among the bytes. Memory is taken only when their number fits the shape.
/// errors: invalid_argument (a key is missing or of another type, sizes do not fit), unimplemented (a type that is not
/// served).
Result<Tensor> json_tensor(const nlohmann::json& input, const JsonTree& tree, BinaryParts& binary);

/// A text in quotes. What is not UTF-8 in it is replaced.
std::string json_text(const std::string& text);
/// Appends a tensor with its name: with its elements, or with the number of its bytes, which then have to go behind the
/// JSON. A number that JSON does not have (infinite, or none) becomes null.
void append_json_tensor(const NamedTensor& named, bool binary, std::string& out);

}  // namespace mangrove::serve

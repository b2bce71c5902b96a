#include "mangrove/serve/protocol/json_response.h"

#include "mangrove/serve/protocol/datatype.h"
#include "mangrove/serve/protocol/json_tensor.h"

namespace mangrove::serve {
JsonResponse write_json_response(const std::string& model, const std::string& id, const InferenceResponse& response,
                                 const BinaryOutputs& binary) {
  JsonResponse result;
  std::string& out = result.body;
  out = R"({"model_name":)" + json_text(model) + R"(,"model_version":)" + json_text(response.version);
  if (!id.empty()) out += R"(,"id":)" + json_text(id);
  out += R"(,"outputs":[)";
  for (const NamedTensor& output : response.outputs) {
    if (&output != &response.outputs.front()) out += ',';
    const bool is_binary = binary.is_binary(output.name);
    result.is_binary = result.is_binary || is_binary;
    append_json_tensor(output, is_binary, out);
  }
  out += "]}";
  result.json_bytes = out.size();
  for (const NamedTensor& output : response.outputs)
    if (binary.is_binary(output.name)) out += bytes_of(output.tensor);
  return result;
}

}  // namespace mangrove::serve

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "mangrove/compress/recipe.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::compress {
namespace {

constexpr const char* kNetworkTensor = "network";
constexpr const char* kNumbersPrefix = "numbers/";  // of a constraint, by parameter

Result<std::int64_t> count_in(const std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  std::int64_t count = -1;
  if (found != metadata.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), count);
  if (count < 0) return make_error(Code::data_loss, "'" + key + "' is no count");
  return count;
}

Result<RecipeProgress> progress_of(const TensorFile& file) {
  const auto network = file.tensors.find(kNetworkTensor);
  const auto setting = file.metadata.find("setting");
  if (network == file.tensors.end() || network->second.dtype() != DType::u8 || setting == file.metadata.end())
    return make_error(Code::data_loss, "not the progress of a recipe");
  MG_TRY(const std::int64_t step, count_in(file.metadata, "step"));
  MG_TRY(const std::int64_t round, count_in(file.metadata, "round"));
  const auto bytes = network->second.as<std::uint8_t>();
  MG_TRY(Graph graph, parse_onnx(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  RecipeProgress progress{setting->second, step, round, {std::move(graph), {}}};
  for (const auto& [name, tensor] : file.tensors) {
    if (!name.starts_with(kNumbersPrefix)) continue;
    const std::string parameter = name.substr(std::strlen(kNumbersPrefix));
    const auto& known = progress.network.graph.initializers();
    const auto weights = known.find(parameter);
    if (tensor.dtype() != DType::i32 || weights == known.end() || weights->second.shape() != tensor.shape())
      return make_error(Code::data_loss, "the constraint of '" + parameter + "' fits no parameter");
    const auto is_possible = [most = tensor.elements()](std::int32_t number) {
      return number >= kFree && number <= most;
    };
    if (!std::ranges::all_of(tensor.as<std::int32_t>(), is_possible))
      return make_error(Code::data_loss, "the constraint of '" + parameter + "' has impossible numbers");
    progress.network.constraints.emplace(parameter, tensor);
  }
  return progress;
}

}  // namespace

Status save_progress(const RecipeProgress& progress, const fs::path& path) {
  const std::string onnx = encode_onnx(progress.network.graph);
  Tensor bytes(DType::u8, Shape{static_cast<std::int64_t>(onnx.size())});
  std::memcpy(bytes.data(), onnx.data(), onnx.size());
  TensorFile file;
  file.tensors.emplace(kNetworkTensor, bytes);
  for (const auto& [name, numbers] : progress.network.constraints) file.tensors.emplace(kNumbersPrefix + name, numbers);
  file.metadata = {{"setting", progress.setting},
                   {"step", std::to_string(progress.step)},
                   {"round", std::to_string(progress.round)}};
  return write_private_file(path, encode_safetensors(file));
}

Result<RecipeProgress> load_progress(const fs::path& path) {
  MG_TRY(const std::string bytes, read_file(path));
  MG_TRY(const TensorFile file, parse_safetensors(bytes).context(path.string()));
  return progress_of(file).context(path.string());
}

}  // namespace mangrove::compress

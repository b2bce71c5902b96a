#include "mangrove/cli/model_source.h"

#include <algorithm>
#include <charconv>

#include "mangrove/base/file.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

/// The model as its paper has it; of a model that is not listed, its family's first.
const zoo::ModelEntry* paper_entry(const std::string& model) {
  const zoo::ModelFamily* family = zoo::find_family(model);
  const zoo::ModelEntry* relative = nullptr;
  for (const zoo::ModelEntry& entry : zoo::models()) {
    if (entry.name == model) return &entry;
    if (relative == nullptr && family != nullptr && zoo::find_family(entry.name) == family) relative = &entry;
  }
  return relative;
}

}  // namespace

void ModelSettings::declare(Keys& keys) {
  keys.add("sample_shape", sample_shape, "of one input, without the batch, e.g. 3,32,32; default: that of the paper");
  keys.add("classes", classes, "outputs of the classifier; 0: as many as in the paper", 0, 1 << 14);
  keys.add("seed", seed, "of the initial weights", 0, std::numeric_limits<std::int64_t>::max());
}

Result<Shape> parse_shape(const std::string& text) {
  std::vector<std::int64_t> dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t dim = 0;
    const auto [stop, code] = std::from_chars(at, end, dim);
    if (code != std::errc() || dim < 1 || (stop != end && *stop != ',')) {
      return make_error(Code::invalid_argument, "'" + text + "' is not a shape like 3,224,224");
    }
    dims.push_back(dim);
    if (stop == end) return Shape(std::move(dims));
    at = stop + 1;
  }
}

bool is_model_file(const std::string& model) {
  return fs::path(model).extension() == ".onnx";
}

Result<Graph> open_model(const std::string& model, const ModelSettings& settings) {
  if (is_model_file(model)) return load_onnx(model);
  zoo::ModelOptions options;
  if (const zoo::ModelEntry* entry = paper_entry(model); entry != nullptr) {
    options.sample_shape = entry->sample_shape;
    options.classes = entry->classes;
  }
  if (!settings.sample_shape.empty()) {
    MG_TRY(options.sample_shape, parse_shape(settings.sample_shape).context("--sample-shape"));
  }
  if (settings.classes > 0) options.classes = settings.classes;
  options.seed = static_cast<std::uint64_t>(settings.seed);
  return zoo::build_model(model, options);
}

}  // namespace mangrove::cli

#include "mangrove/cli/sources/model_source.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "mangrove/base/file.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/compress/coded_model.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/identity/signature.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

/// A network that was changed or mistaken since it was signed is noticed before it is used.
Status check_signature_beside(const std::string& path) {
  const Result<cluster::ModelSignature> signature = load_signature(path);
  if (!signature.ok() && signature.code() == Code::not_found) return {};
  MG_TRY(const std::string network, read_file(path));
  const Status fits = signature.ok() ? signature->check_fits(network) : Status(signature.error());
  if (fits.ok()) return {};
  return make_error(fits.code(), path + ": the signature beside it does not fit: " + fits.error().message +
                                     "; if the change was yours, remove the signature: rm " + path + kSignatureEnding);
}

Result<bool> begins_as_coded_model(const std::string& path) {
  MG_RETURN_IF_ERROR(InputFile::open(path));
  std::string beginning(4, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return compress::is_coded_model(beginning);
}

/// A coded file has no open dimensions but the batch: shapes that are given must be its own.
Status check_input_shapes(const Graph& graph, const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    const auto input = std::ranges::find(graph.inputs(), name, [](const auto& known) { return known.first; });
    if (input == graph.inputs().end())
      return make_error(Code::not_found, "input_shape: there is no input '" + name + "'");
    if (input->second.shape != shape)
      return make_error(Code::invalid_argument, "input_shape: input '" + name + "' has shape " +
                                                    to_string(input->second.shape) + ", not " + to_string(shape));
  }
  return {};
}

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

Result<cluster::ModelSignature> load_signature(const std::string& path) {
  const std::string beside = path + kSignatureEnding;
  std::error_code unreadable;  // then reading says why
  if (const std::uintmax_t size = fs::file_size(beside, unreadable); !unreadable && size > identity::kLongestSignature)
    return make_error(Code::invalid_argument, beside + ": a signature has at most 64 KiB");
  MG_TRY(const std::string text, read_file(beside));
  return cluster::ModelSignature::parse(text).context(beside);
}

void ModelSettings::declare(Keys& keys) {
  keys.add("sample_shape", sample_shape,
           "shape of one sample, without the batch, e.g. 3,32,32; default: as in the network's paper");
  keys.add("classes", classes, "number of classes; 0: as in the network's paper", 0, 1 << 14);
  keys.add("seed", seed, "random seed of the initial weights", seed_range());
  keys.add("input_shape", input_shape, kInputShapeHelp);
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

Result<std::map<std::string, Shape>> parse_input_shapes(const std::string& text) {
  std::map<std::string, Shape> shapes;
  std::istringstream entries(text);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::size_t equals = entry.rfind('=');
    const std::string name = entry.substr(0, equals);
    std::vector<std::int64_t> dims;
    bool good = equals != std::string::npos && !name.empty() && equals + 1 < entry.size() && entry.back() != 'x';
    std::istringstream sizes(good ? entry.substr(equals + 1) : "");
    for (std::string size; good && std::getline(sizes, size, 'x');) {
      std::int64_t dim = kBatch;
      if (size != "N") {
        const auto [stop, code] = std::from_chars(size.data(), size.data() + size.size(), dim);
        good = code == std::errc() && stop == size.data() + size.size() && dim >= 1;
      }
      dims.push_back(dim);
    }
    good = good && std::ranges::count(dims, kBatch) <= 1;
    if (!good)
      return make_error(Code::invalid_argument,
                        "input_shape: '" + entry + "' is not NAME=SHAPE like x=Nx3x224x224, with one N at most");
    if (!shapes.emplace(name, Shape(std::move(dims))).second)
      return make_error(Code::invalid_argument, "input_shape: '" + name + "' has two shapes");
  }
  return shapes;
}

Result<Graph> load_model(const std::string& path, const std::string& input_shape) {
  MG_RETURN_IF_ERROR(check_signature_beside(path));
  LoadOptions options{.open_batch_of_one = true};
  MG_TRY(options.input_shapes, parse_input_shapes(input_shape));
  MG_TRY(const bool is_coded, begins_as_coded_model(path));
  if (!is_coded) return load_onnx(path, options);
  MG_TRY(const std::string bytes, read_file(path));
  MG_TRY(Graph graph, compress::parse_model(bytes).context("model " + path));
  MG_RETURN_IF_ERROR(check_input_shapes(graph, options.input_shapes).context("model " + path));
  return graph;
}

bool is_model_file(const std::string& model) {
  const fs::path ending = fs::path(model).extension();
  return ending == ".onnx" || ending == compress::kCodedEnding;
}

Result<Graph> open_model(const std::string& model, const ModelSettings& settings) {
  if (is_model_file(model)) return load_model(model, settings.input_shape);
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

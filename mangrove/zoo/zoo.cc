#include "mangrove/zoo/zoo.h"

#include <algorithm>
#include <new>

#include "mangrove/base/make_rows.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/base/table.h"
#include "mangrove/zoo/family.h"

namespace mangrove::zoo {
namespace {

const std::vector<Family>& table() {
  static const std::vector<Family> families = make_rows(rows::kAll);
  return families;
}

bool has_stem(std::string_view name, std::string_view stem) {
  return name.starts_with(stem) && (name.size() == stem.size() || name[stem.size()] == '-');
}

// The longest stem that the name has: "densenet-bc-100-12" is not a "densenet".
const Family* family_of(std::string_view name) {
  const Family* found = nullptr;
  for (const Family& family : table()) {
    if (!has_stem(name, family.names.stem)) continue;
    if (found == nullptr || family.names.stem.size() > found->names.stem.size()) found = &family;
  }
  return found;
}

// Keeps the products of sizes in every builder far from overflow.
constexpr std::int64_t kMostPerDimension = 1 << 14;

Status check(const ModelOptions& options, Sample kind) {
  const Shape& sample = options.sample_shape;
  const auto fits = [](std::int64_t n) { return n >= 1 && n <= kMostPerDimension; };
  const bool rank_fits = kind == Sample::any     ? sample.rank() >= 1 && sample.rank() <= 3
                         : kind == Sample::image ? sample.rank() == 3
                                                 : sample.rank() == 2;
  if (!rank_fits || !std::all_of(sample.begin(), sample.end(), fits)) {
    return make_error(Code::invalid_argument,
                      "samples have shape " + to_string(sample) + ", expected " +
                          (kind == Sample::window ? "[channels, length]" : "[channels, height, width]") +
                          ", each from 1 to " + std::to_string(kMostPerDimension));
  }
  if (!fits(options.classes)) {
    return make_error(Code::invalid_argument, std::to_string(options.classes) + " classes, expected from 1 to " +
                                                  std::to_string(kMostPerDimension));
  }
  return {};
}

}  // namespace

std::span<const ModelFamily> model_families() {
  static const std::vector<ModelFamily> families = [] {
    std::vector<ModelFamily> all;
    for (const Family& family : table()) all.push_back(family.names);
    return all;
  }();
  return families;
}

std::span<const ModelEntry> models() {
  static const std::vector<ModelEntry> models = [] {
    std::vector<ModelEntry> all;
    for (const Family& family : table()) all.insert(all.end(), family.models.begin(), family.models.end());
    return all;
  }();
  return models;
}

const ModelFamily* find_family(std::string_view name) {
  const Family* family = family_of(name);
  return family == nullptr ? nullptr : &family->names;
}

Result<Graph> build_model(std::string_view name, const ModelOptions& options) {
  const Family* family = family_of(name);
  if (family == nullptr)
    return make_error(Code::not_found,
                      "no model is called '" + std::string(name) + "'" + suggestion(name, row_names(models())));
  const std::string where = "model '" + std::string(name) + "'";
  MG_RETURN_IF_ERROR(check(options, family->sample).context(where));
  try {
    return family->build(Variant(name, family->names.stem, family->names.pattern), options).context(where);
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted,
                      where + " for samples " + to_string(options.sample_shape) + " does not fit into memory");
  }
}

Status check_model_name(std::string_view name) {
  const Family* family = family_of(name);
  ModelOptions small;  // which need not fit the model: builders look at the name first
  if (family != nullptr && family->sample == Sample::window) small.sample_shape = Shape{1, 32};
  const Result<Graph> built = build_model(name, small);
  if (!built.ok() && built.code() == Code::not_found) return built.error();
  return {};
}

}  // namespace mangrove::zoo

#include "mangrove/data/shard_header.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"

namespace mangrove::data {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostSamples = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMostClasses = 1'000'000;
constexpr std::size_t kMostDimensions = 4;

Error bad_member(const char* key, const std::string& expected) {
  return make_error(Code::data_loss, std::string("header: '") + key + "' is not " + expected);
}

const json& member(const json& object, const char* key) {
  static const json kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

Result<std::uint32_t> count_in(const json& object, const char* key, std::uint64_t most) {
  const json& value = member(object, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    return bad_member(key, "a whole number up to " + std::to_string(most));
  return value.get<std::uint32_t>();
}

Result<std::string> text_in(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) return bad_member(key, "a text");
  return value.get<std::string>();
}

Result<std::vector<std::string>> names_in(const json& object, const char* key) {
  const json& list = member(object, key);
  if (!list.is_array() || list.size() > kMostClasses) return bad_member(key, "a list of names");
  std::vector<std::string> names;
  for (const json& name : list) {
    if (!name.is_string()) return bad_member(key, "a list of names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

Result<Shape> shape_in(const json& object, const char* key) {
  const json& list = member(object, key);
  const std::string expected = "a shape of 1 to " + std::to_string(kMostDimensions) + " dimensions and at most " +
                               std::to_string(kMostShardValues) + " values";
  if (!list.is_array() || list.empty() || list.size() > kMostDimensions) return bad_member(key, expected);
  std::vector<std::int64_t> dims;
  std::int64_t values = 1;
  for (const json& dim : list) {
    const bool fits = dim.is_number_unsigned() && dim.get<std::uint64_t>() > 0 &&
                      dim.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMostShardValues / values);
    if (!fits) return bad_member(key, expected);
    dims.push_back(dim.get<std::int64_t>());
    values *= dims.back();
  }
  return Shape(std::move(dims));
}

Result<CoarseLabels> coarse_in(const json& object, std::size_t classes) {
  CoarseLabels coarse;
  if (!object.contains("coarse_classes")) return coarse;
  MG_TRY(coarse.names, names_in(object, "coarse_classes"));
  const json& list = member(object, "coarse_of_class");
  const auto refuse = [] { return bad_member("coarse_of_class", "a coarse class for each class"); };
  if (!list.is_array() || list.size() != classes) return refuse();
  for (const json& label : list) {
    if (!label.is_number_unsigned() || label.get<std::uint64_t>() >= coarse.names.size()) return refuse();
    coarse.of_class.push_back(label.get<std::int32_t>());
  }
  return coarse;
}

}  // namespace

std::string to_json(const ShardHeader& header) {
  json object = {{"split", header.split},
                 {"first", header.first},
                 {"samples", header.samples},
                 {"last", header.last},
                 {"sample_shape", header.sample_shape.dims()},
                 {"classes", header.classes},
                 {"title", header.title}};
  if (!header.coarse.names.empty()) {
    object["coarse_classes"] = header.coarse.names;
    object["coarse_of_class"] = header.coarse.of_class;
  }
  return dump(object);
}

Result<ShardHeader> parse_shard_header(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return make_error(Code::data_loss, "the header is not a JSON object");
  ShardHeader header;
  MG_TRY(header.split, text_in(object, "split"));
  MG_TRY(header.first, count_in(object, "first", kMostSamples));
  MG_TRY(header.samples, count_in(object, "samples", kMostSamples - header.first));
  if (header.samples == 0) return bad_member("samples", "above 0");
  const json& last = member(object, "last");
  if (!last.is_boolean()) return bad_member("last", "true or false");
  header.last = last.get<bool>();
  MG_TRY(header.sample_shape, shape_in(object, "sample_shape"));
  MG_TRY(header.classes, names_in(object, "classes"));
  MG_TRY(header.coarse, coarse_in(object, header.classes.size()));
  MG_TRY(header.title, text_in(object, "title"));
  return header;
}

}  // namespace mangrove::data

#include "tests/job_page/job_schema.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/base/suggestion.h"
#include "mangrove/cli/settings.h"

namespace mangrove {
namespace {

using Json = nlohmann::ordered_json;

/// What is too large to be reached is not worth a bound.
constexpr double kMostBound = 1e15;

/// Names of a table; those of methods with options have these in brackets: trimmed_mean(2).
Json choice_schema(const std::vector<std::string>& choices) {
  std::string names;
  for (const std::string& choice : choices) names += (names.empty() ? "" : "|") + choice;
  return {{"anyOf", {{{"enum", choices}}, {{"type", "string"}, {"pattern", "^(" + names + ")\\("}}}}};
}

Json number_schema(const Key& key) {
  Json schema = {{"type", key.value == "N" ? "integer" : "number"}};
  const auto bound = [&](double limit) {
    return key.value == "N" ? Json(static_cast<std::int64_t>(limit)) : Json(limit);
  };
  if (std::abs(key.low) < kMostBound) schema["minimum"] = bound(key.low);
  if (std::abs(key.high) < kMostBound) schema["maximum"] = bound(key.high);
  return schema;
}

Json value_schema(const Key& key) {
  if (key.is_switch()) return {{"type", "boolean"}};
  if (key.value == "N" || key.value == "NUMBER") return number_schema(key);
  if (!key.choices.empty()) return choice_schema(key.choices);
  return {{"type", {"string", "number", "boolean"}}};  // YAML takes a text such as 0.5 for a number
}

Json key_schema(const Key& key) {
  std::string description = key.help;
  if (!key.range.empty()) description += " (" + key.range + ")";
  if (!key.strategies.empty()) description += "; of the strategies " + join_words(key.strategies);
  Json schema = {{"description", std::move(description)}};
  schema.update(value_schema(key));
  return schema;
}

Json keys_schema(const Keys& keys) {
  Json properties = Json::object();
  for (const Key& key : keys.all()) properties[key.name] = key_schema(key);
  return properties;
}

}  // namespace

std::string job_schema() {
  cli::TrainSettings train;
  cli::EvalSettings eval;
  cli::InferSettings infer;
  Json properties = Json::object();
  Json sections = Json::object();
  const auto add_section = [&](const char* name, const char* title, const Keys& keys) {
    Json own = keys_schema(keys);
    // a key before the sections is a default of all that have it; what it takes may differ among them
    for (const auto& [key, schema] : own.items()) {
      if (!properties.contains(key))
        properties[key] = schema;
      else if (properties[key] != schema)
        properties[key] = {{"description", "a default for the sections that have this key"}};
    }
    sections[name] = {{"description", title},
                      {"type", {"object", "null"}},
                      {"properties", std::move(own)},
                      {"additionalProperties", false}};
  };
  add_section("train", "trains a network", train.keys());
  add_section("eval", "evaluates a network in the calling process", eval.keys());
  add_section("infer", "classifies a data set on the cluster", infer.keys());
  properties.update(sections);
  const Json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "Mangrove job"},
      {"description", "A job file of `mangrove run`; written by job_page from the descriptions of the keys."},
      {"type", "object"},
      {"properties", std::move(properties)},
      {"additionalProperties", false}};
  return schema.dump(1) + "\n";
}

}  // namespace mangrove

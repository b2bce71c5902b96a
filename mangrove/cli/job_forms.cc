#include "mangrove/cli/job_forms.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/option_choices.h"
#include "mangrove/cli/settings.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/data/data_folder.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr const char* kCommand = "train";

// Which cluster, and what is in files of whoever sits at the command line.
constexpr std::array kNotOffered = {
    "input_shape", "init_from", "freeze",   "head_epochs", "fine_tune_rate", "data_fallback", "data_dir", "local",
    "coordinator", "identity",  "insecure", "testbed",     "no_limits",      "threads",       "run_dir",  "resume"};

bool is_offered(const Key& key) {
  return std::ranges::find(kNotOffered, key.name) == kNotOffered.end();
}

std::vector<std::string> offered_names(const Keys& keys) {
  std::vector<std::string> names;
  for (const Key& key : keys.all())
    if (is_offered(key)) names.push_back(key.name);
  return names;
}

/// The kind of value, by what --help says of it.
const char* type_of(const Key& key) {
  struct Type {
    std::string_view value;
    const char* name;
  };
  static constexpr std::array kTypes = {Type{"", "flag"},         Type{"N", "whole"},   Type{"NUMBER", "number"},
                                        Type{"TIME", "duration"}, Type{"SIZE", "size"}, Type{"RATE", "rate"}};
  const auto* const found = std::ranges::find(kTypes, std::string_view(key.value), &Type::value);
  return found == kTypes.end() ? "text" : found->name;
}

json key_json(const Key& key) {
  json object = {{"name", key.name},   {"group", key.group},   {"type", type_of(key)},         {"help", key.help},
                 {"range", key.range}, {"default", key.get()}, {"strategies", key.strategies}, {"page", key.page}};
  const std::vector<std::string> choices = option_choices(kCommand, key.flag());
  if (!choices.empty()) object.emplace("choices", choices);
  return object;
}

Status check_command(const std::string& command) {
  if (command == kCommand) return {};
  return make_error(Code::not_found,
                    "jobs of '" + command + "' are not begun from here; of '" + std::string(kCommand) + "' are");
}

Result<json> keys_json(const std::string& command) {
  MG_RETURN_IF_ERROR(check_command(command));
  TrainSettings settings;
  const Keys keys = settings.keys();
  json list = json::array();
  for (const Key& key : keys.all())
    if (is_offered(key)) list.push_back(key_json(key));
  return json{{"command", command}, {"keys", std::move(list)}};
}

/// A value as a job file has it. errors: invalid_argument (a list, an object or null).
Result<std::string> value_text(const std::string& name, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return dump(value);
  return make_error(Code::invalid_argument, name + ": expected a text, a number, true or false");
}

Result<cluster::JobSpec> make(const std::string& command, const json& values, const std::string& coordinator,
                              const fs::path& data_folder) {
  MG_RETURN_IF_ERROR(check_command(command));
  TrainSettings settings;
  settings.cluster.coordinator = coordinator;
  const Keys keys = settings.keys();
  for (const auto& [name, value] : values.items()) {
    const Key* const key = keys.find(name);
    if (key == nullptr || !is_offered(*key))
      return make_error(Code::invalid_argument,
                        name + ": there is no such key" + suggestion(name, offered_names(keys)));
    MG_TRY(const std::string text, value_text(name, value));
    MG_RETURN_IF_ERROR(keys.set(name, text));
  }
  for (const auto& item : values.items()) MG_RETURN_IF_ERROR(mangrove::check_read(item.key(), {keys}));
  if (is_model_file(settings.model))
    return make_error(Code::invalid_argument, "model: expected a network of the zoo, not a file");
  return train_job(settings, data::DataFolder::confined(data_folder, {}));
}

}  // namespace

dashboard::JobForms job_forms(const std::string& coordinator, const fs::path& data_folder) {
  return {.keys = &keys_json,
          .make = [coordinator, data_folder](const std::string& command, const json& values,
                                             const std::stop_token& /*stop*/) {
            return make(command, values, coordinator, data_folder);
          }};
}

}  // namespace mangrove::cli

#include "mangrove/cli/user_config.h"

#include <algorithm>
#include <string_view>

#include "mangrove/base/config_file.h"
#include "mangrove/base/user_folders.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/usage.h"
#include "mangrove/engine/known_backends.h"

namespace mangrove::cli {
namespace {

/// Whether the words have the option, as "--name" or "--name=value".
bool has(const std::vector<std::string>& words, std::string_view option) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == option || word.starts_with(std::string(option) + "=");
  });
}

}  // namespace

Keys UserConfig::keys() {
  Keys keys;
  keys.add("coordinator", coordinator, "HOST:PORT of a running cluster");
  keys.add("identity", identity, "PEM file with the key, certificate and authority to show to it");
  keys.add("data_dir", data_dir, "folder of the data sets");
  keys.add("backend", backend, backend_help());
  keys.add("threads", threads, "threads for the kernels", or_zero(kThreads));
  return keys;
}

fs::path user_config_path() {
  return config_folder() / "config.yaml";
}

Result<UserConfig> load_user_config(const fs::path& path) {
  UserConfig config;
  std::error_code code;
  if (!fs::exists(path, code)) return config;
  MG_RETURN_IF_ERROR(apply_settings_file(path, config.keys()));
  return config;
}

std::vector<std::string> with_config(std::vector<std::string> words, CLI::App& app, const UserConfig& config) {
  std::size_t taken = 0;
  const CLI::App& command = named_command(app, words, &taken);
  const bool reads_job_file = command.get_name() == "run" || command.get_name() == "sim";
  if (reads_job_file || has(words, "--resume") || has(words, "--config")) return words;
  const auto add = [&](const std::string& option, const std::string& value) {
    if (value.empty() || has(words, option) || command.get_option_no_throw(option) == nullptr) return;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(taken), option + "=" + value);
  };
  if (!has(words, "--local") && !has(words, "--testbed") && !has(words, "--url")) {
    add("--coordinator", config.coordinator);
    // the identity of a person; nodes and coordinators have other ones
    if (command.get_name() != "node" && command.get_name() != "coordinator") add("--identity", config.identity);
  }
  add("--backend", config.backend);
  add("--threads", config.threads > 0 ? std::to_string(config.threads) : "");
  return words;
}

}  // namespace mangrove::cli

#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/keys.h"

namespace mangrove::cli {

/// Defaults that a person keeps for all commands: a YAML file of keys.
struct UserConfig {
  std::string coordinator;  // of a cluster: HOST:PORT
  std::string identity;     // PEM file to show to it
  std::string data_dir;     // in place of ~/.cache/mangrove/data; $MANGROVE_DATA is stronger
  std::string backend;
  std::int64_t threads = 0;  // 0: as the command has it
  Keys keys();
};

/// $XDG_CONFIG_HOME/mangrove/config.yaml, else ~/.config/mangrove/config.yaml
fs::path user_config_path();

/// A file that is not there has no keys. errors: invalid_argument (not YAML, unknown key, a value that does not fit;
/// names the file, the line and the nearest key).
Result<UserConfig> load_user_config(const fs::path& path);

/// The words of a command line with the flags that `config` has for this command and that they have not. Flags are left
/// out where the words say another cluster (--local, --testbed) or a server (--url), the settings of an earlier run
/// (--resume) or a file of their own (--config), and of commands that read a job file.
std::vector<std::string> with_config(std::vector<std::string> words, CLI::App& app, const UserConfig& config);

}  // namespace mangrove::cli

#include "mangrove/cli/command.h"

#include <unistd.h>

#include <CLI/Config.hpp>  // has parts of CLI::App that every program needs
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mangrove/base/config_file.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/base/printable.h"
#include "mangrove/cli/reports/terminal.h"
#include "mangrove/cli/reports/wrapped_text.h"

namespace mangrove::cli {

void add_flags(CLI::App& app, const Keys& keys, Overrides& overrides, const std::function<bool(const Key&)>& is_flag) {
  for (const Key& key : keys.all()) {
    if (!is_flag(key) || app.get_option_no_throw(key.flag()) != nullptr) continue;
    CLI::Option* option = nullptr;
    if (key.is_switch()) {
      option = app.add_flag_callback(
          key.flag(), [&overrides, name = key.name] { overrides.emplace_back(name, "true"); }, key.description());
    } else {
      option = app.add_option_function<std::string>(
          key.flag(), [&overrides, name = key.name](const std::string& value) { overrides.emplace_back(name, value); },
          key.description());
      option->type_name(key.value);
    }
    if (!key.group.empty()) option->group(key.group);
  }
}

namespace {

constexpr std::array kClusterKeys = {"local", "coordinator", "testbed"};

/// A job runs on one cluster: one that is typed takes the place of one in a file, and two are a mistake.
Status choose_cluster(const Overrides& overrides, const Keys& keys) {
  if (keys.find("local") == nullptr) return {};  // no job
  const Key* chosen = nullptr;
  for (const char* name : kClusterKeys) {
    if (std::none_of(overrides.begin(), overrides.end(), [&](const auto& o) { return o.first == name; })) continue;
    const Key* const key = keys.find(name);
    if (chosen != nullptr)
      return make_error(Code::invalid_argument,
                        "a job runs on one cluster: give " + chosen->flag() + " or " + key->flag() + ", not both");
    chosen = key;
  }
  if (chosen == nullptr) return {};
  MG_RETURN_IF_ERROR(keys.set("coordinator", ""));
  return keys.set("testbed", "");
}

}  // namespace

Status apply_overrides(const Overrides& overrides, const Keys& keys) {
  MG_RETURN_IF_ERROR(choose_cluster(overrides, keys));
  for (const auto& [name, value] : overrides)
    if (const Key* key = keys.find(name)) MG_RETURN_IF_ERROR(key->set(value).context(key->flag()));
  return {};
}

Status check_read(const Overrides& overrides, const std::vector<Keys>& jobs) {
  for (const auto& [name, value] : overrides) {
    Key key;
    key.name = name;
    MG_RETURN_IF_ERROR(check_read(name, jobs).context(key.flag()));
  }
  return {};
}

void add_allow_path_flag(CLI::App& app, std::vector<std::string>& allowed) {
  app.add_option("--allow-path", allowed,
                 "jobs may read data below this folder too, besides the data folder and what is registered with "
                 "`mangrove data register`; may be given several times")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

void add_config_flag(CLI::App& app, std::string& path) {
  app.add_option("--config", path,
                 "YAML file with these settings, named as the flags: 'heartbeat_interval: 1s', 'allow_path: [/srv/a]'; "
                 "flags win over it, and --allow-path adds to it")
      ->type_name("FILE");
}

Status apply_service_settings(const std::string& path, const Overrides& overrides, const Keys& keys,
                              std::vector<std::string>& allowed) {
  if (!path.empty()) MG_RETURN_IF_ERROR(apply_settings_file(path, keys, {{"allow_path", &allowed}}));
  return apply_overrides(overrides, keys);
}

void add_access_flags(CLI::App& app, ClusterAccess& access) {
  app.add_option("--coordinator", access.coordinator,
                 "address of the cluster's coordinator (default " + access.coordinator + ")")
      ->capture_default_str()
      ->type_name("HOST:PORT")
      ->group("Cluster");
  app.add_option("--identity", access.identity, kIdentityHelp)->type_name("FILE")->group("Cluster");
  app.add_flag("--insecure", access.insecure, kInsecureHelp)->group("Cluster");
}

void add_output_flags(CLI::App& app, OutputOptions& output) {
  app.add_flag("--json", output.json, "print one JSON object on standard output, everything else on standard error")
      ->group("Output");
  app.add_flag("--quiet", output.quiet, "show no progress")->group("Output");
  app.get_help_ptr()->group("Output");
}

namespace {

Status write_out(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  if (errno == EPIPE) return {};  // who reads has seen enough: `mangrove model list | head`
  return make_error(Code::resource_exhausted, "standard output: cannot write");
}

}  // namespace

Status print_text(const std::string& text) {
  return write_out(printable(text, /*keep_lines=*/true));
}

Status print_result(const nlohmann::json& json_output, const std::string& table, const OutputOptions& output) {
  const int descriptor = output.json ? STDERR_FILENO : STDOUT_FILENO;
  const std::string report = printable(table, /*keep_lines=*/true);
  const std::string text =
      is_terminal(descriptor) ? folded(report, static_cast<std::size_t>(terminal_size(descriptor).columns)) : report;
  if (!output.json) return write_out(text);
  std::fputs(text.c_str(), stderr);
  return write_out(dump(json_output) + "\n");
}

}  // namespace mangrove::cli

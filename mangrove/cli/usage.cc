#include "mangrove/cli/usage.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "mangrove/base/suggestion.h"

namespace mangrove::cli {
namespace {

/// "--epochs" of "--epochs=3"; "" of a word that is no option.
std::string option_name(const std::string& word) {
  const bool is_option = word.size() > 1 && word.front() == '-';
  return is_option ? word.substr(0, word.find('=')) : "";
}

bool has_option(const CLI::App& command, const std::string& name) {
  return name == "-h" || name == "--help" || command.get_option_no_throw(name) != nullptr;
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::optional<std::string> unknown_option(const CLI::App& command, std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = option_name(word);
    const bool is_number =
        word.size() > 1 && (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
    if (!name.empty() && !is_number && !has_option(command, name))
      return "unknown option " + name + suggestion(name, long_options(command));
  }
  return std::nullopt;
}

std::optional<std::string> unknown_command(const CLI::App& command, std::span<const std::string> words) {
  std::vector<std::string> names;
  for (const CLI::App* below : commands_below(command)) names.push_back(below->get_name());
  if (names.empty()) return std::nullopt;
  if (words.empty()) return "a subcommand is required; known: " + join_words(names);
  if (!option_name(words.front()).empty()) return std::nullopt;
  return "unknown command '" + words.front() + "'" + suggestion(words.front(), names);
}

/// An option that takes one value and got several, or none.
std::optional<std::string> misused_option(const CLI::App& command, std::span<const std::string> words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    const std::string name = option_name(*word);
    const CLI::Option* option = name.empty() ? nullptr : command.get_option_no_throw(name);
    if (option == nullptr || name == "--help" || option->get_items_expected_max() != 1) continue;
    const auto same = [&](const std::string& other) { return option_name(other) == name; };
    if (std::find_if(word + 1, words.end(), same) != words.end()) return name + " is given twice; it takes one value";
    const bool has_value = word->find('=') != std::string::npos || word + 1 != words.end();
    if (!has_value) return name + " needs a value";
  }
  return std::nullopt;
}

}  // namespace

CLI::App& named_command(CLI::App& app, std::span<const std::string> words, std::size_t* taken) {
  CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto below = command->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (below.empty()) break;
    command = below.front();
    if (taken != nullptr) ++*taken;
  }
  return *command;
}

std::string command_path(const CLI::App& command) {
  const CLI::App* above = command.get_parent();
  return above == nullptr ? command.get_name() : command_path(*above) + " " + command.get_name();
}

std::vector<const CLI::App*> commands_below(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* below) { return !below->get_name().empty(); });
}

Error usage_error(CLI::App& app, std::span<const std::string> words, const CLI::ParseError& refusal) {
  std::size_t taken = 0;
  const CLI::App& command = named_command(app, words, &taken);
  const std::span<const std::string> rest = words.subspan(taken);
  std::optional<std::string> what = unknown_command(command, rest);
  if (!what) what = unknown_option(command, rest);
  if (!what) what = misused_option(command, rest);
  if (!what && refusal.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    if (const std::vector<std::string> extra = app.remaining(true); !extra.empty())
      what = "unexpected argument '" + extra.front() + "'";
  return {Code::invalid_argument, what.value_or(refusal.what()) + "; see `" + command_path(command) + " --help`"};
}

std::vector<std::string> without_help_command(std::vector<std::string> words, CLI::App& app) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  std::size_t taken = 0;
  const bool has_commands = !commands_below(named_command(app, words, &taken)).empty();
  const bool is_unknown = has_commands && taken < words.size();  // an error that help would hide
  if (!is_unknown) words.insert(words.begin() + static_cast<std::ptrdiff_t>(taken), "--help");
  return words;
}

}  // namespace mangrove::cli

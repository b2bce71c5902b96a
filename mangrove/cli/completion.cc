#include "mangrove/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace mangrove::cli {
namespace {

using Commands = std::span<const CommandDescription>;

constexpr std::size_t kLongestHelp = 70;  // that a list in a shell has room for

std::string word_list(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// The beginning of a help text, without what shells read in quotes.
std::string short_help(const std::string& help) {
  std::string text = help.substr(0, help.find_first_of(":;(\n"));
  std::erase_if(text, [](char c) { return c == '\'' || c == '`' || c == '"' || c == '\\' || c == '$'; });
  return text.substr(0, kLongestHelp);
}

std::vector<std::string> option_names(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const OptionDescription& option : command.options)
    if (!option.is_argument) names.push_back(option.name);
  return names;
}

/// What the arguments without dashes can be: commands below, or a list that is known.
std::vector<std::string> words_of(const CommandDescription& command) {
  std::vector<std::string> words = command.commands;
  for (const OptionDescription& option : command.options)
    if (option.is_argument) words.insert(words.end(), option.choices.begin(), option.choices.end());
  return words;
}

/// Of `help`, which takes the names of all others.
std::vector<std::string> words_of(const CommandDescription& command, Commands all) {
  return command.name == "help" ? all.front().commands : words_of(command);
}

/// The pattern of a `case` of all paths but the program's own: "mangrove train"|"mangrove data"|...
std::string path_pattern(Commands commands) {
  std::string pattern;
  for (const CommandDescription& command : commands.subspan(1))
    pattern += (pattern.empty() ? "" : "|") + fmt::format("\"{}\"", command.path);
  return pattern;
}

/// `case` branches that set `choices` for options that are lists, and for others that take a value.
std::string value_cases(Commands commands, const char* when_list, const char* when_other) {
  std::string text, others;
  for (const CommandDescription& command : commands) {
    for (const OptionDescription& option : command.options) {
      if (option.is_argument || option.value.empty()) continue;
      const std::string pattern = fmt::format("\"{} {}\"", command.path, option.name);
      if (option.choices.empty())
        others += (others.empty() ? "" : "|") + pattern;
      else
        text +=
            fmt::format("    {}) {} ;;\n", pattern, fmt::format(fmt::runtime(when_list), word_list(option.choices)));
    }
  }
  return text + (others.empty() ? "" : fmt::format("    {}) {} ;;\n", others, when_other));
}

}  // namespace

std::string bash_completion(Commands commands) {
  std::string text =
      "# bash completion of mangrove; try it with: source <(mangrove completion bash)\n"
      "_mangrove() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path=mangrove i\n"
      "  local options='' words=''\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$path ${COMP_WORDS[i]}\" in\n";
  text += fmt::format("      {}) path=\"$path ${{COMP_WORDS[i]}}\" ;;\n", path_pattern(commands));
  text +=
      "    esac\n"
      "  done\n"
      "  case \"$path $previous\" in\n";
  text += value_cases(commands, "COMPREPLY=($(compgen -W '{}' -- \"$current\")); return",
                      "COMPREPLY=($(compgen -f -- \"$current\")); return");
  text += "  esac\n  case \"$path\" in\n";
  for (const CommandDescription& command : commands)
    text += fmt::format("    \"{}\") options='{}'; words='{}' ;;\n", command.path, word_list(option_names(command)),
                        word_list(words_of(command, commands)));
  text +=
      "  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "    [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _mangrove mangrove\n";
  return text;
}

std::string zsh_completion(Commands commands) {
  std::string text =
      "#compdef mangrove\n"
      "# zsh completion of mangrove; keep it as _mangrove in a folder of $fpath\n"
      "_mangrove() {\n"
      "  local where=mangrove i\n"
      "  local -a options commands choices\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$where $words[i]\" in\n";
  text += fmt::format("      {}) where=\"$where $words[i]\" ;;\n", path_pattern(commands));
  text +=
      "    esac\n"
      "  done\n"
      "  case \"$where $words[CURRENT-1]\" in\n";
  text += value_cases(commands, "choices=({}); compadd -a choices; return", "_files; return");
  text += "  esac\n  case \"$where\" in\n";
  for (const CommandDescription& command : commands) {
    text += fmt::format("    \"{}\")\n      options=(", command.path);
    for (const OptionDescription& option : command.options)
      if (!option.is_argument) text += fmt::format(" '{}:{}'", option.name, short_help(option.help));
    text += fmt::format(" )\n      commands=({}) ;;\n", word_list(words_of(command, commands)));
  }
  text +=
      "  esac\n"
      "  if [[ $words[CURRENT] == -* ]]; then\n"
      "    _describe -o option options\n"
      "  elif (( $#commands )); then\n"
      "    compadd -a commands\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _mangrove \"$@\"; else compdef _mangrove mangrove; fi\n";
  return text;
}

std::string fish_completion(Commands commands) {
  std::string text =
      "# fish completion of mangrove; keep it as ~/.config/fish/completions/mangrove.fish\n"
      "function __mangrove_at\n"
      "  set -l path mangrove\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$path $word\"\n"
      "      case";
  for (const CommandDescription& command : commands.subspan(1)) text += fmt::format(" '{}'", command.path);
  text +=
      "\n"
      "        set path \"$path $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$path\" = \"$argv\"\n"
      "end\n";
  for (const CommandDescription& command : commands) {
    const std::string at = fmt::format("complete -c mangrove -n '__mangrove_at {}'", command.path);
    if (const auto words = words_of(command, commands); !words.empty())
      text += fmt::format("{} -f -a '{}'\n", at, word_list(words));
    for (const OptionDescription& option : command.options) {
      if (!option.name.starts_with("--")) continue;
      text += fmt::format("{} -l {} -d '{}'", at, option.name.substr(2), short_help(option.help));
      if (!option.value.empty()) text += " -r";
      if (!option.choices.empty()) text += fmt::format(" -f -a '{}'", word_list(option.choices));
      text += "\n";
    }
  }
  return text;
}

}  // namespace mangrove::cli

#include "mangrove/cli/help.h"

#include <algorithm>
#include <memory>
#include <set>

#include "mangrove/base/suggestion.h"
#include "mangrove/cli/reports/wrapped_text.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kTextColumn = 26;
constexpr const char* kLastGroup = "Output";
constexpr const char* kNoStrategy = "true";  // what CLI11 makes of a bare --help

/// "  --flag VALUE          what it does", over as many lines as needed.
std::string row(const std::string& name, const std::string& text) {
  std::string line = "  " + name;
  if (line.size() + 2 > kTextColumn)
    line += "\n" + std::string(kTextColumn, ' ');
  else
    line.resize(kTextColumn, ' ');
  return line + wrapped(text, kTextColumn);
}

/// Flags by name only; nothing where there are none.
std::string names_row(const std::string& name, const std::vector<const CLI::Option*>& options) {
  std::string flags;
  for (const CLI::Option* option : options) flags += " " + option->get_name();
  return flags.empty() ? "" : row(name, flags);
}

std::string value_of(const CLI::Option& option) {
  if (option.get_type_size() == 0) return "";
  const bool is_list = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  return " " + option.get_type_name() + (is_list ? "..." : "");
}

/// The page of a command with keys that belong to some strategies.
class StrategyHelp : public HelpFormatter {
 public:
  StrategyHelp(const std::vector<Keys>& jobs, std::vector<StrategyText> strategies)
      : strategies_(std::move(strategies)) {
    std::set<std::string> common;  // that every strategy of a kind of job reads
    for (const Keys& keys : jobs) {
      for (const Key& key : keys.all()) {
        std::vector<std::string>& readers = readers_[key.flag()];
        readers.insert(readers.end(), key.strategies.begin(), key.strategies.end());
        if (key.strategies.empty()) common.insert(key.flag());
      }
    }
    std::erase_if(readers_, [&](const auto& flag) { return common.contains(flag.first); });
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const std::string chosen = app->get_help_ptr()->results().empty() ? "" : app->get_help_ptr()->results().front();
    const auto found = std::ranges::find(strategies_, chosen, &StrategyText::name);
    return found == strategies_.end() ? HelpFormatter::make_help(app, name, mode) : page_of(*found, *app, name);
  }

 protected:
  std::string flags_of(const CLI::App& app) const override {
    std::string text = HelpFormatter::flags_of(app);
    text += "\nFlags of some strategies only (--help STRATEGY explains them):\n";
    for (const StrategyText& strategy : strategies_) text += names_row(strategy.name, own_options(app, strategy.name));
    return text;
  }

  /// Without the brackets of what may be left out: these commands need all their positionals.
  std::string make_option_usage(const CLI::Option* option) const override { return make_option_name(option, true); }

  bool is_shown(const CLI::Option* option) const override {
    return !readers_.contains(option->get_name()) && HelpFormatter::is_shown(option);
  }

 private:
  std::vector<const CLI::Option*> own_options(const CLI::App& app, const std::string& strategy) const {
    return app.get_options([&](const CLI::Option* option) {
      const auto readers = readers_.find(option->get_name());
      return readers != readers_.end() && std::ranges::find(readers->second, strategy) != readers->second.end();
    });
  }

  std::string page_of(const StrategyText& strategy, const CLI::App& app, const std::string& name) const {
    std::string text = wrapped(strategy.name + ": " + strategy.summary, 0);
    text += wrapped("When a device is lost: " + strategy.on_loss, 0);
    text += "\nUsage: " + name;
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional()) text += " " + option->get_name(true, false);
    text += " --strategy " + strategy.name + " [OPTIONS]\n";
    const auto options = own_options(app, strategy.name);
    if (!options.empty()) text += "\nFlags of this strategy:\n";
    for (const CLI::Option* option : options) text += make_option(option, false);
    return text + "\n" + wrapped("`" + name + " --help` lists the flags that it has in common with others.", 0);
  }

  std::vector<StrategyText> strategies_;
  std::map<std::string, std::vector<std::string>> readers_;  // strategies, by flag
};

/// Lets `--help` take the name of a strategy. CLI11 keeps words for positionals that are required, so these are
/// required only after the whole command line is read.
void require_positionals_last(CLI::App& command) {
  auto required = std::make_shared<std::vector<CLI::Option*>>();
  command.preparse_callback([&command, required](std::size_t) {
    for (CLI::Option* option : command.get_options()) {
      if (!option->get_positional() || !option->get_required()) continue;
      option->required(false);
      required->push_back(option);
    }
  });
  command.parse_complete_callback([required] {
    for (const CLI::Option* option : *required)
      if (option->count() == 0) throw CLI::RequiredError(option->get_name());
  });
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
  return make_description(app) + make_usage(app, name) + make_positionals(app) + flags_of(*app) +
         make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0);
}

std::string HelpFormatter::flags_of(const CLI::App& app) const {
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group != kLastGroup; });
  std::string text;
  for (const std::string& group : groups) {
    std::string rows;
    for (const CLI::Option* option : app.get_options())
      if (option->get_group() == group && option->nonpositional() && is_shown(option))
        rows += make_option(option, false);
    if (!group.empty() && !rows.empty()) text.append("\n").append(group).append(":\n").append(rows);
  }
  if (!brief_groups_.empty()) text += "\nFlags that the pages named below explain:\n";
  for (const std::string& group : brief_groups_)
    text += names_row(group, app.get_options([&](const CLI::Option* option) { return option->get_group() == group; }));
  return text;
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return row(command->get_display_name(true), command->get_description());
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return row(is_positional ? option->get_name(true, false) : option->get_name(false, true) + value_of(*option),
             option->get_description());
}

bool HelpFormatter::is_shown(const CLI::Option* option) const {
  return std::ranges::find(brief_groups_, option->get_group()) == brief_groups_.end();
}

void add_strategy_help(CLI::App& command, const std::vector<Keys>& jobs, std::vector<StrategyText> strategies) {
  std::vector<std::string> names;
  names.reserve(strategies.size());
  for (const StrategyText& strategy : strategies) names.push_back(strategy.name);
  command.set_help_flag("-h,--help", "show this page, or that of a strategy")
      ->type_size(1)
      ->expected(0, 1)
      ->type_name("[STRATEGY]")
      ->group(kLastGroup)
      ->check([names](const std::string& name) {
        if (name == kNoStrategy || std::ranges::find(names, name) != names.end()) return std::string();
        return "unknown strategy '" + name + "'" + suggestion(name, names);
      });
  require_positionals_last(command);
  command.formatter(std::make_shared<StrategyHelp>(jobs, std::move(strategies)));
}

}  // namespace mangrove::cli

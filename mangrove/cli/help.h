#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/keys.h"

namespace mangrove::cli {

/// Pages of --help for a terminal of 80 columns: texts are wrapped beside a column of flags, the group "Output" is
/// last. Of some groups only the names of their flags are listed.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::vector<std::string> brief_groups = {}) : brief_groups_(std::move(brief_groups)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;

 protected:
  /// The flags under their headings.
  virtual std::string flags_of(const CLI::App& app) const;
  virtual bool is_shown(const CLI::Option* option) const;

 private:
  std::vector<std::string> brief_groups_;
};

/// A row of a table of strategies.
struct StrategyText {
  std::string name, summary, on_loss;
};
template <class Table>
std::vector<StrategyText> strategy_texts(const Table& table) {
  std::vector<StrategyText> texts;
  for (const auto& row : table)
    texts.push_back({std::string(row.name), std::string(row.summary), std::string(row.on_loss)});
  return texts;
}

/// Gives a command `--help [STRATEGY]`: without a strategy the page lists flags that only some strategies read by name;
/// with one it explains the strategy and its own flags. jobs: the keys of each kind of job that it runs.
void add_strategy_help(CLI::App& command, const std::vector<Keys>& jobs, std::vector<StrategyText> strategies);

}  // namespace mangrove::cli

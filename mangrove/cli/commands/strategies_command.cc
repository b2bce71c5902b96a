#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/wrapped_text.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/train/strategy.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kStrategyColumns = 20;

template <class Row>
json traits_of(const Row& row) {
  json traits = json::array();
  Row::traits(row, [&](const char* name, bool has) {
    if (has) traits.push_back(name);
  });
  return traits;
}

template <class Table>
json strategy_rows(const Table& table) {
  json rows = json::array();
  for (const auto& row : table)
    rows.push_back(
        {{"name", row.name}, {"summary", row.summary}, {"on_loss", row.on_loss}, {"traits", traits_of(row)}});
  return rows;
}

std::string strategy_text(const json& rows) {
  std::string text;
  for (const json& row : rows) {
    std::string traits;
    for (const json& trait : row["traits"]) traits += (traits.empty() ? "" : ", ") + trait.get<std::string>();
    std::string name = "  " + row["name"].get<std::string>();
    name.resize(kStrategyColumns, ' ');
    const std::string blanks(kStrategyColumns, ' ');
    text += name + wrapped(row["summary"].get<std::string>(), kStrategyColumns);
    text += blanks + wrapped("lost node: " + row["on_loss"].get<std::string>(), kStrategyColumns);
    text += blanks + wrapped("traits: " + traits, kStrategyColumns);
  }
  return text;
}

Status run_strategies(const OutputOptions& output) {
  const json training = strategy_rows(train::strategies()), inference = strategy_rows(infer::strategies());
  return print_result({{"training", training}, {"inference", inference}},
                      "Training:\n" + strategy_text(training) + "\nInference:\n" + strategy_text(inference), output);
}

}  // namespace

void add_strategies_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("strategies", "list the ways of training and of inference on several devices");
  add_output_flags(*command, context.output);
  command->footer(
      "`mangrove train --help STRATEGY` and `mangrove infer --help STRATEGY` explain\n"
      "the flags that only this strategy reads.\n"
      "Examples:\n"
      "  mangrove strategies\n"
      "  mangrove strategies --json");
  command->callback([&context] { context.action = [&context] { return run_strategies(context.output); }; });
}

}  // namespace mangrove::cli

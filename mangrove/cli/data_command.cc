#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/data_source.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/download.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

Status list(const std::string& data_dir, const OutputOptions& output) {
  const fs::path folder = data::data_folder(data_dir);
  json sets = json::array();
  std::string table = fmt::format("data folder: {}\n", folder.string());
  for (const std::string& name : data::dataset_names()) {
    MG_TRY(const bool present, data::is_present(name, folder));
    MG_TRY(const std::string summary, data::dataset_summary(name));
    sets.push_back({{"name", name}, {"summary", summary}, {"present", present}});
    table += fmt::format("  {:<8} {}; {}\n", name, summary,
                         present ? "here" : "not here, get it with: mangrove data get " + name);
  }
  return print_result(json{{"folder", folder.string()}, {"data_sets", sets}}, table, output);
}

}  // namespace

void add_data_command(CLI::App& app, CommandContext& context) {
  struct State {
    std::string data_dir;
    std::string name;
  };
  auto state = std::make_shared<State>();
  auto* command = app.add_subcommand("data", "data sets: what is here, and getting what is not");
  command->require_subcommand(1);
  auto* get = command->add_subcommand("get", "download a data set from its public mirrors, checked against checksums");
  auto* show = command->add_subcommand("list", "the data sets that Mangrove knows");
  get->add_option("name", state->name, "data set")->required()->type_name("");
  for (auto* sub : {get, show})
    sub->add_option("--data-dir", state->data_dir,
                    "folder of the data sets; else $MANGROVE_DATA, else ~/.cache/mangrove/data")
        ->type_name("");
  add_output_flags(*show, context.output);
  command->footer("Examples:\n  mangrove data list\n  mangrove data fetch mnist --data-dir /mnt/usb/data");
  get->callback([&context, state] {
    context.action = [&context, state] { return download_data(state->name, state->data_dir, context.stop); };
  });
  show->callback(
      [&context, state] { context.action = [&context, state] { return list(state->data_dir, context.output); }; });
}

}  // namespace mangrove::cli

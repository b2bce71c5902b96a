#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/commands/data_info.h"
#include "mangrove/cli/commands/data_make.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/data/dataset.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct State {
  std::string data_dir;
  std::string name;
  MakeImages images;
  MakeSensors sensors;
  PackData pack;
};

Status list(const State& state, const OutputOptions& output) {
  MG_TRY(const json known, describe_known_data(data::data_folder(state.data_dir)));
  return print_result(known, known_data_table(known), output);
}

Status info(const State& state, const OutputOptions& output) {
  MG_TRY(const json description, describe_data(state.name, data::data_folder(state.data_dir)));
  return print_result(description, data_table(description), output);
}

Status print_made(const json& made, const char* where, const OutputOptions& output) {
  const std::string table = fmt::format("written to {}; use it with --data {}\n", made[where].get<std::string>(),
                                        made["use"].get<std::string>());
  return print_result(made, table, output);
}

void add_make(CLI::App& command, const std::shared_ptr<State>& state, CommandContext& context) {
  auto* make = command.add_subcommand("make", "write data of one's own");
  make->require_subcommand(1);
  make->footer(
      "Examples:\n"
      "  mangrove data make images --data glyphs --to digits --limit 1000\n"
      "  mangrove data make sensors --to motion.csv");
  auto* images = make->add_subcommand("images", "a data set as PNG files in class folders, all or a node's part of it");
  images->add_option("--data", state->images.data, "what to write; see 'mangrove data list'")
      ->type_name("")
      ->capture_default_str();
  images->add_option("--data-dir", state->images.data_dir, "folder of the data sets")->type_name("");
  images->add_option("--to", state->images.to, "folder to write")->required()->type_name("");
  images->add_option("--shard", state->images.shard, "only this part of every split, e.g. 2/4")->type_name("");
  images->add_option("--limit", state->images.limit, "the first so many samples of each split; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->type_name("");
  auto* sensors = make->add_subcommand("sensors", "a CSV file of synthetic motion: six channels, four activities");
  sensors->add_option("--to", state->sensors.to, "CSV file to write")->required()->type_name("");
  sensors->add_option("--recordings", state->sensors.recordings, "each of one activity")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{100'000}))
      ->type_name("")
      ->capture_default_str();
  sensors->add_option("--rows", state->sensors.rows, "of each recording, 50 a second")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->type_name("")
      ->capture_default_str();
  sensors->add_option("--seed", state->sensors.seed, "of what is random")
      ->check(CLI::NonNegativeNumber)
      ->type_name("")
      ->capture_default_str();
  for (auto* sub : {images, sensors}) add_output_flags(*sub, context.output);
  images->footer(
      "Examples:\n"
      "  mangrove data make images --data glyphs --to digits --limit 1000\n"
      "  mangrove data make images --data glyphs --to part-2 --shard 2/4      # a node's part of four");
  sensors->footer(
      "Examples:\n"
      "  mangrove data make sensors --to motion.csv\n"
      "  mangrove train --data csv:motion.csv,window=128,stride=64,skip=time,group=recording,test=0.25 --model gru");
  images->callback([&context, state] {
    context.action = [&context, state]() -> Status {
      MG_TRY(const json made, make_images(state->images, context.output.quiet, context.stop));
      return print_made(made, "folder", context.output);
    };
  });
  sensors->callback([&context, state] {
    context.action = [&context, state]() -> Status {
      MG_TRY(const json made, make_sensors(state->sensors));
      return print_made(made, "file", context.output);
    };
  });
}

void add_pack(CLI::App& command, const std::shared_ptr<State>& state, CommandContext& context) {
  auto* pack = command.add_subcommand("pack", "write a data set as shards: few large files that are read in sequence");
  pack->add_option("data", state->pack.data, "data set, e.g. cifar10 or folder:PATH")->required()->type_name("");
  pack->add_option("--out", state->pack.out, "folder to write")->required()->type_name("");
  pack->add_option("--shard-size", state->pack.shard_size, "most that a file has")
      ->type_name("")
      ->capture_default_str();
  pack->add_option("--compress", state->pack.compress, "none, or zstd: each sample by itself")
      ->check(CLI::IsMember({"none", "zstd"}))
      ->type_name("")
      ->capture_default_str();
  pack->add_option("--data-dir", state->pack.data_dir, "folder of the data sets")->type_name("");
  add_output_flags(*pack, context.output);
  pack->footer(
      "Examples:\n"
      "  mangrove data pack cifar10 --out cifar-shards --compress zstd\n"
      "  mangrove data pack clips:falls,frames=8,size=64,test=0.2 --out falls-shards --shard-size 32MB\n"
      "  mangrove train --data shards:cifar-shards --model resnet-20");
  pack->callback([&context, state] {
    context.action = [&context, state]() -> Status {
      MG_TRY(const json made, pack_data(state->pack, context.output.quiet, context.stop));
      return print_made(made, "folder", context.output);
    };
  });
}

}  // namespace

void add_data_command(CLI::App& app, CommandContext& context) {
  auto state = std::make_shared<State>();
  auto* command = app.add_subcommand("data", "data sets: what there is, what is in them, getting and making them");
  command->require_subcommand(1);
  auto* show = command->add_subcommand("list", "the data sets, kinds of files and transformations that Mangrove knows");
  auto* describe = command->add_subcommand("info", "splits, classes, shape and statistics of a data set");
  auto* fetch =
      command->add_subcommand("fetch", "download a data set from its public mirrors, checked against checksums");
  add_make(*command, state, context);
  add_pack(*command, state, context);
  describe->add_option("data", state->name, "data set, e.g. cifar10 or folder:PATH; see 'mangrove data list'")
      ->required()
      ->type_name("");
  fetch->add_option("name", state->name, "data set")->required()->type_name("");
  for (auto* sub : {show, describe, fetch})
    sub->add_option("--data-dir", state->data_dir,
                    "folder of the data sets; else $MANGROVE_DATA, else ~/.cache/mangrove/data")
        ->type_name("");
  for (auto* sub : {show, describe}) add_output_flags(*sub, context.output);
  show->footer("Examples:\n  mangrove data list\n  mangrove data list --data-dir /mnt/usb/data --json");
  describe->footer(
      "Examples:\n"
      "  mangrove data info glyphs\n"
      "  mangrove data info folder:leaves,size=96,test=0.2\n"
      "  mangrove data info csv:motion.csv,window=128,stride=64,skip=time,group=recording,test=0.25 --json");
  fetch->footer(
      "Examples:\n"
      "  mangrove data fetch mnist\n"
      "  mangrove data fetch cifar10 --data-dir /mnt/usb/data");
  command->footer(
      "Examples:\n"
      "  mangrove data list\n"
      "  mangrove data fetch cifar10 --data-dir /mnt/usb/data\n"
      "  mangrove data info folder:leaves,size=96,test=0.2\n"
      "  mangrove data make images --data glyphs --to digits --limit 1000\n"
      "  mangrove data make sensors --to motion.csv\n"
      "  mangrove data pack cifar10 --out cifar-shards --compress zstd\n"
      "  mangrove data info csv:motion.csv,window=128,stride=64,skip=time,group=recording,test=0.25");
  show->callback([&context, state] { context.action = [&context, state] { return list(*state, context.output); }; });
  describe->callback(
      [&context, state] { context.action = [&context, state] { return info(*state, context.output); }; });
  fetch->callback([&context, state] {
    context.action = [&context, state] { return download_data(state->name, state->data_dir, context.stop); };
  });
}

}  // namespace mangrove::cli

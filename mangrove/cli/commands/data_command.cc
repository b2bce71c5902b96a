#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/cli/command.h"
#include "mangrove/cli/commands/data_info.h"
#include "mangrove/cli/commands/data_make.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/data/dataset.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr const char* kDataDirHelp = "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data";

struct DataState {
  std::string data_dir;
  std::string name, path;
  MakeImages images;
  MakeSensors sensors;
  PackData pack;
  Overrides overrides;

  Keys images_keys() {
    Keys keys;
    keys.begin_group("Data");
    keys.add("data", images.data, "the data set to write; `mangrove data list` explains all");
    keys.add("data_dir", images.data_dir, kDataDirHelp);
    keys.add("shard", images.shard, "write only this part of each split, e.g. 2/4");
    keys.add("limit", images.limit, "write only the first N samples of each split; 0: all", limit_range());
    keys.begin_group("Output");
    keys.add("to", images.to, "folder to write");
    return keys;
  }
  Keys sensors_keys() {
    Keys keys;
    keys.begin_group("Data");
    keys.add("recordings", sensors.recordings, "number of recordings, each of one activity", 4, 100'000);
    keys.add("rows", sensors.rows, "rows of each recording, 50 per second", 1, 1'000'000);
    keys.add("seed", sensors.seed, "random seed", seed_range());
    keys.begin_group("Output");
    keys.add("to", sensors.to, "CSV file to write");
    return keys;
  }
  Keys pack_keys() {
    Keys keys;
    keys.begin_group("Data");
    keys.add("data_dir", pack.data_dir, kDataDirHelp);
    keys.begin_group("Output");
    keys.add("out", pack.out, "folder to write");
    keys.add_bytes("shard_size", pack.shard_size, "maximum size of a file", 1);
    keys.add("compress", pack.compress, "how each sample is compressed: none or zstd");
    return keys;
  }
};

Status list_data_sets(const DataState& state, const OutputOptions& output) {
  MG_TRY(const json known, describe_known_data(data::data_folder(state.data_dir)));
  return print_result(known, known_data_table(known), output);
}

Status enlist(const DataState& state) {
  const fs::path folder = data::data_folder(state.data_dir);
  MG_RETURN_IF_ERROR(data::register_data(folder, state.name, state.path));
  return print_text(fmt::format("jobs may read it as {}, e.g. --data folder:{} or --data csv:{}\n", state.name,
                                state.name, state.name));
}

Status delist(const DataState& state) {
  return data::unregister_data(data::data_folder(state.data_dir), state.name);
}

Status info(const DataState& state, const OutputOptions& output) {
  std::optional<WaitDisplay> waiting(std::in_place, shows_progress(output), "read", 0);
  MG_TRY(const json description, describe_data(state.name, data::data_folder(state.data_dir)));
  waiting.reset();
  return print_result(description, data_table(description), output);
}

Status print_made(const json& made, const char* where, const OutputOptions& output) {
  const std::string table = fmt::format("written to {}; use it with --data {}\n", made[where].get<std::string>(),
                                        made["use"].get<std::string>());
  return print_result(made, table, output);
}

void add_make(CLI::App& command, const std::shared_ptr<DataState>& state, CommandContext& context) {
  auto* make = command.add_subcommand("make", "write example data to files");
  make->require_subcommand(1);
  make->footer(
      "Examples:\n"
      "  mangrove data make images --data glyphs --to digits --limit 1000\n"
      "  mangrove data make sensors --to motion.csv");
  auto* images = make->add_subcommand("images", "write a data set, or a part of it, as PNG files in class folders");
  add_flags(*images, state->images_keys(), state->overrides);
  auto* sensors =
      make->add_subcommand("sensors", "write a CSV file of synthetic motion: six channels, four activities");
  add_flags(*sensors, state->sensors_keys(), state->overrides);
  for (auto* sub : {images, sensors}) {
    sub->get_option("--to")->required();
    add_output_flags(*sub, context.output);
  }
  images->footer(
      "Examples:\n"
      "  mangrove data make images --data glyphs --to digits --limit 1000\n"
      "  mangrove data make images --data glyphs --to part-2 --shard 2/4\n"
      "The last one writes the second of four parts, for a node.");
  sensors->footer(
      "Examples:\n"
      "  mangrove data make sensors --to motion.csv\n"
      "  mangrove train --model gru --data \\\n"
      "      csv:motion.csv,window=128,stride=64,skip=time,group=recording,test=0.25");
  images->callback([&context, state] {
    context.action = [&context, state]() -> Status {
      MG_RETURN_IF_ERROR(apply_overrides(state->overrides, state->images_keys()));
      MG_TRY(const json made, make_images(state->images, context.output.quiet, context.stop));
      return print_made(made, "folder", context.output);
    };
  });
  sensors->callback([&context, state] {
    context.action = [&context, state]() -> Status {
      MG_RETURN_IF_ERROR(apply_overrides(state->overrides, state->sensors_keys()));
      MG_TRY(const json made, make_sensors(state->sensors));
      return print_made(made, "file", context.output);
    };
  });
}

void add_pack(CLI::App& command, const std::shared_ptr<DataState>& state, CommandContext& context) {
  auto* pack = command.add_subcommand("pack", "pack a data set into shards: few large files that are read in sequence");
  pack->add_option("data", state->pack.data, "the data set, e.g. cifar10 or folder:PATH")->required()->type_name("");
  add_flags(*pack, state->pack_keys(), state->overrides);
  pack->get_option("--out")->required();
  add_output_flags(*pack, context.output);
  pack->footer(
      "Examples:\n"
      "  mangrove data pack cifar10 --out cifar-shards --compress zstd\n"
      "  mangrove data pack clips:falls,frames=8,size=64,test=0.2 \\\n"
      "                     --out falls-shards --shard-size 32MB\n"
      "  mangrove train --data shards:cifar-shards --model resnet-20");
  pack->callback([&context, state] {
    context.action = [&context, state]() -> Status {
      MG_RETURN_IF_ERROR(apply_overrides(state->overrides, state->pack_keys()));
      MG_TRY(const json made, pack_data(state->pack, context.output.quiet, context.stop));
      return print_made(made, "folder", context.output);
    };
  });
}

}  // namespace

void add_data_command(CLI::App& app, CommandContext& context) {
  auto state = std::make_shared<DataState>();
  auto* command = app.add_subcommand("data", "list, describe, download, make and pack data sets");
  command->require_subcommand(1);
  auto* show =
      command->add_subcommand("list", "list the data sets, kinds of files and transformations that Mangrove knows");
  auto* describe = command->add_subcommand("info", "show the splits, classes, shape and statistics of a data set");
  auto* fetch =
      command->add_subcommand("fetch", "download a data set from its public mirrors, checked against checksums");
  auto* enter =
      command->add_subcommand("register", "open a file or folder of this device to jobs, under a name of its own");
  auto* remove = command->add_subcommand("unregister", "close it to jobs again");
  add_make(*command, state, context);
  add_pack(*command, state, context);
  describe
      ->add_option("data", state->name, "the data set, e.g. cifar10 or folder:PATH; `mangrove data list` explains all")
      ->required()
      ->type_name("");
  fetch->add_option("name", state->name, "the data set")->required()->type_name("");
  for (auto* sub : {enter, remove})
    sub->add_option("name", state->name, "letters, digits, '-', '_' and '.'")->required()->type_name("");
  enter->add_option("path", state->path, "the file or folder")->required()->type_name("");
  for (auto* sub : {show, describe, fetch, enter, remove})
    sub->add_option("--data-dir", state->data_dir, kDataDirHelp)->type_name("FOLDER")->group("Data");
  for (auto* sub : {show, describe}) add_output_flags(*sub, context.output);
  show->footer("Examples:\n  mangrove data list\n  mangrove data list --data-dir /mnt/usb/data --json");
  describe->footer(
      "Examples:\n"
      "  mangrove data info glyphs\n"
      "  mangrove data info folder:leaves,size=96,test=0.2\n"
      "  mangrove data info --json \\\n"
      "      csv:motion.csv,window=128,stride=64,skip=time,group=recording,test=0.25");
  fetch->footer(
      "Examples:\n"
      "  mangrove data fetch mnist\n"
      "  mangrove data fetch cifar10 --data-dir /mnt/usb/data");
  enter->footer(
      "Examples:\n"
      "  mangrove data register walks /mnt/usb/walks.csv\n"
      "  mangrove train --data csv:walks,test=0.2 --model gru \\\n"
      "      --coordinator 192.168.1.10:7070\n"
      "Each node registers a name for itself, so that its files may lie elsewhere.");
  remove->footer("Examples:\n  mangrove data unregister walks");
  command->footer(
      "Examples:\n"
      "  mangrove data list\n"
      "  mangrove data fetch cifar10 --data-dir /mnt/usb/data\n"
      "  mangrove data info folder:leaves,size=96,test=0.2\n"
      "  mangrove data make images --data glyphs --to digits --limit 1000\n"
      "  mangrove data make sensors --to motion.csv\n"
      "  mangrove data pack cifar10 --out cifar-shards --compress zstd");
  show->callback(
      [&context, state] { context.action = [&context, state] { return list_data_sets(*state, context.output); }; });
  describe->callback(
      [&context, state] { context.action = [&context, state] { return info(*state, context.output); }; });
  enter->callback([&context, state] { context.action = [state] { return enlist(*state); }; });
  remove->callback([&context, state] { context.action = [state] { return delist(*state); }; });
  fetch->callback([&context, state] {
    context.action = [&context, state] { return download_data(state->name, state->data_dir, context.stop); };
  });
}

}  // namespace mangrove::cli

#include "mangrove/cli/commands/data_make.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>

#include "mangrove/cli/reports/progress.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/export.h"
#include "mangrove/data/loader.h"
#include "mangrove/data/shards.h"
#include "mangrove/data/spec.h"
#include "mangrove/data/subset.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct Shard {
  std::uint32_t index = 0, parts = 1;
};

/// "2/4", from 1.
Result<Shard> parse_shard(const std::string& text) {
  if (text.empty()) return Shard{};
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, code] = std::from_chars(text.data(), end, shard.index);
  if (code == std::errc() && slash != end && *slash == '/') {
    const auto [stop, second] = std::from_chars(slash + 1, end, shard.parts);
    if (second == std::errc() && stop == end && shard.index >= 1 && shard.index <= shard.parts)
      return Shard{shard.index - 1, shard.parts};
  }
  return make_error(Code::invalid_argument, "--shard: '" + text + "' is not PART/PARTS, e.g. 2/4, from 1/4 to 4/4");
}

/// Tells the display of every few samples of a split that are written.
std::function<void(std::uint32_t done)> progress_of(ProgressDisplay& display, const char* split, std::uint32_t count) {
  constexpr std::uint32_t kEvery = 100;
  return [progress = LoopProgress(display, split, count), count](std::uint32_t done) {
    if (done % kEvery == 0 || done == count) progress(done);
  };
}

}  // namespace

Result<json> make_images(const MakeImages& options, bool quiet, std::stop_token stop) {
  MG_TRY(const Shard shard, parse_shard(options.shard));
  ProgressDisplay display(!quiet);
  json written = json::object();
  for (const auto& [name, split] : {std::pair{"train", data::Split::train}, std::pair{"val", data::Split::validation},
                                    std::pair{"test", data::Split::test}}) {
    auto opened = data::open_dataset(options.data, split, data::data_folder(options.data_dir));
    if (!opened.ok() && (split == data::Split::train || opened.code() != Code::not_found)) return opened.error();
    if (!opened.ok()) continue;  // no such split
    const auto dataset = data::first_samples(*opened, options.limit);
    const auto [first, last] = data::shard(dataset->size(), shard.index, shard.parts);
    const std::uint32_t count = last - first;
    const auto progress = progress_of(display, name, count);
    MG_RETURN_IF_ERROR(data::write_image_folder(*dataset, first, last, fs::path(options.to) / name, progress, stop)
                           .context(options.to));
    written[name] = count;
  }
  return json{{"folder", options.to}, {"data", options.data}, {"images", written}, {"use", "folder:" + options.to}};
}

Result<json> pack_data(const PackData& options, bool quiet, std::stop_token stop) {
  if (options.compress != "none" && options.compress != "zstd")
    return make_error(Code::invalid_argument, "--compress: must be none or zstd, got '" + options.compress + "'");
  data::PackOptions pack{.shard_bytes = options.shard_size, .compress = options.compress == "zstd"};
  MG_TRY(const data::DatasetSpec spec, data::DatasetSpec::parse(options.data));
  const auto names = data::dataset_names();
  if (std::ranges::find(names, spec.name) != names.end()) pack.title = spec.name;
  ProgressDisplay display(!quiet);
  json splits = json::object();
  for (const auto& [name, split] :
       {std::pair{"train", data::Split::train}, std::pair{"validation", data::Split::validation},
        std::pair{"test", data::Split::test}}) {
    auto opened = data::open_dataset(options.data, split, data::data_folder(options.data_dir));
    if (!opened.ok() && (split == data::Split::train || opened.code() != Code::not_found)) return opened.error();
    if (!opened.ok()) continue;  // no such split
    const std::uint32_t count = (*opened)->size();
    const auto progress = progress_of(display, name, count);
    MG_TRY(const data::PackedSplit packed, data::write_shards(**opened, split, options.out, pack, progress, stop));
    splits[name] = {{"samples", packed.samples}, {"shards", packed.shards}, {"bytes", packed.bytes}};
  }
  return json{{"folder", options.out}, {"data", options.data}, {"splits", splits}, {"use", "shards:" + options.out}};
}

Result<json> make_sensors(const MakeSensors& options) {
  const std::string text = data::make_sensor_csv(
      {.recordings = options.recordings, .rows = options.rows, .seed = static_cast<std::uint64_t>(options.seed)});
  MG_RETURN_IF_ERROR(write_file_atomically(options.to, text));
  return json{{"file", options.to},
              {"rows", options.recordings * options.rows},
              {"use", "csv:" + options.to + ",window=128,stride=64,skip=time,group=recording,test=0.25"}};
}

}  // namespace mangrove::cli

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::cli {

/// `mangrove data make images`.
struct MakeImages {
  std::string data = "glyphs";  // spec of what is written
  std::string data_dir;
  std::string to;          // folder
  std::string shard;       // "2/4": part 2 of 4; "": all
  std::int64_t limit = 0;  // samples of each split; 0: all
};
/// Writes the splits that there are as image folders. errors: invalid_argument (shard, data that are not images), those
/// of opening and of writing.
Result<nlohmann::json> make_images(const MakeImages& options, bool quiet, std::stop_token stop);

/// `mangrove data pack`.
struct PackData {
  std::string data;  // spec of what is packed
  std::string data_dir;
  std::string out;  // folder
  Bytes shard_size = 8'000'000;
  std::string compress = "none";  // or zstd
};
/// Writes the splits that there are as shards. errors: invalid_argument (compress), those of opening and of
/// write_shards.
Result<nlohmann::json> pack_data(const PackData& options, bool quiet, std::stop_token stop);

/// `mangrove data make sensors`.
struct MakeSensors {
  std::string to;  // CSV file
  std::int64_t recordings = 40;
  std::int64_t rows = 512;
  std::int64_t seed = 1;
};
Result<nlohmann::json> make_sensors(const MakeSensors& options);

}  // namespace mangrove::cli

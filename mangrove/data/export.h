#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// Writes samples first .. last - 1 of a data set of images as folder/CLASS/NUMBER.png, such that "folder:" reads the
/// same pixels; numbers are those of the samples. `progress` is told the samples written. errors: invalid_argument
/// (samples that are not images of 1 or 3 channels), those of Dataset::read and of writing, cancelled (`stop`).
Status write_image_folder(const Dataset& dataset, std::uint32_t first, std::uint32_t last, const fs::path& folder,
                          const std::function<void(std::uint32_t)>& progress, const std::stop_token& stop);

struct SensorOptions {
  std::int64_t recordings = 40;  // each of one activity, in turn
  std::int64_t rows = 512;       // of each recording, 50 a second
  std::uint64_t seed = 1;
};
/// A CSV of synthetic motion, as "csv:" reads it: time, acceleration (ax, ay, az, in g) and turning (gx, gy, gz, in
/// rad/s) of a pocketed phone, the activity (label: rest, walk, run, stairs) and the number of the recording. Steps
/// differ in rate, height and attitude of the phone between recordings. Depends on the options only.
std::string make_sensor_csv(const SensorOptions& options);

}  // namespace mangrove::data

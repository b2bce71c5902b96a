#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/cli/sources/sample_source.h"

namespace mangrove::cli {

struct CalibrationSettings {
  std::vector<std::string> data;  // a data set, .npy files, or images and folders of images
  std::string data_dir;
  std::string mean, deviation;  // of images, as predict takes them
  std::int64_t samples = 256;   // for calibration
  std::int64_t limit = 0;       // samples held back for the comparison; 0: all
};

/// Samples to calibrate a model with, and others to try it on.
struct CalibrationData {
  std::unique_ptr<SampleSource> calibration;
  std::unique_ptr<SampleSource> compared;
  bool held_back = true;  // false: there were no others than those for calibration
};

/// Of a data set: samples of the training split for calibration, drawn with a fixed seed, and the test split; where it
/// has no test split, and of arrays and images: some for calibration, the rest for the comparison.
/// errors: those of ensure_data, open_dataset, open_dataset_samples, open_arrays and open_images; invalid_argument
/// (no data, data of several kinds).
Result<CalibrationData> open_calibration_data(const Graph& graph, const CalibrationSettings& settings,
                                              std::stop_token stop);

}  // namespace mangrove::cli

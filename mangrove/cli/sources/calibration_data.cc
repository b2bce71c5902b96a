#include "mangrove/cli/sources/calibration_data.h"

#include <algorithm>

#include "mangrove/base/random.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/data/image.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {
namespace {

bool is_array(const std::string& argument) {
  return fs::path(argument).extension() == ".npy";
}

/// Whether it is an image, or a folder with images in it rather than in class folders.
bool is_images(const std::string& argument) {
  std::error_code error;
  if (!fs::is_directory(argument, error)) return data::has_image_name(argument) && fs::exists(argument, error);
  for (fs::directory_iterator at(argument, error), end; !error && at != end; at.increment(error)) {
    if (data::has_image_name(at->path())) return true;
  }
  return false;
}

bool all_of(const CalibrationSettings& settings, bool (*kind)(const std::string&)) {
  return std::ranges::all_of(settings.data, kind);
}

/// All samples in random order.
std::vector<std::int64_t> shuffled(const SampleSource& source) {
  constexpr std::uint64_t kSeed = 1;
  const std::vector<std::uint32_t> order = Random(kSeed).permutation(static_cast<std::uint32_t>(source.count()));
  return {order.begin(), order.end()};
}

std::vector<std::int64_t> first_of(std::vector<std::int64_t> samples, std::int64_t limit) {
  if (limit > 0 && limit < static_cast<std::int64_t>(samples.size())) samples.resize(static_cast<std::size_t>(limit));
  return samples;
}

/// `others`: samples for the comparison; null: what calibration leaves of `source`.
CalibrationData split(std::shared_ptr<const SampleSource> source, std::shared_ptr<const SampleSource> others,
                      const CalibrationSettings& settings) {
  const std::vector<std::int64_t> all = shuffled(*source);
  const std::vector<std::int64_t> chosen = first_of(all, settings.samples);
  CalibrationData data{.calibration = pick_samples(source, chosen), .compared = nullptr};
  std::vector<std::int64_t> rest(all.begin() + static_cast<std::ptrdiff_t>(chosen.size()), all.end());
  if (others != nullptr) {
    rest = shuffled(*others);
    source = others;
  } else if (rest.empty()) {
    rest = chosen;
    data.held_back = false;
  }
  data.compared = pick_samples(std::move(source), first_of(std::move(rest), settings.limit));
  return data;
}

Result<CalibrationData> open_dataset_splits(const Graph& graph, const CalibrationSettings& settings,
                                            std::stop_token stop) {
  if (settings.data.size() > 1) {
    return make_error(Code::invalid_argument, "--calibrate: one data set, .npy files, or images; '" + settings.data[0] +
                                                  "' and '" + settings.data[1] + "' are not one");
  }
  MG_TRY(const std::string name,
         ensure_data({.data = settings.data[0], .data_fallback = "", .data_dir = settings.data_dir}, stop));
  const fs::path folder = data::data_folder(settings.data_dir);
  MG_TRY(const auto augmentation, learn::preparation_of(graph, folder));
  MG_TRY(const auto train, data::open_dataset(name, data::Split::train, folder));
  MG_TRY(std::shared_ptr<const SampleSource> samples, open_dataset_samples(graph, train, augmentation));
  const auto test = data::open_dataset(name, data::Split::test, folder);
  if (!test.ok() && test.code() == Code::not_found) return split(std::move(samples), nullptr, settings);
  if (!test.ok()) return test.error();
  MG_TRY(std::shared_ptr<const SampleSource> others, open_dataset_samples(graph, *test, augmentation));
  return split(std::move(samples), std::move(others), settings);
}

}  // namespace

Result<CalibrationData> open_calibration_data(const Graph& graph, const CalibrationSettings& settings,
                                              std::stop_token stop) {
  if (settings.data.empty()) {
    return make_error(Code::invalid_argument,
                      "no calibration data: give --calibrate with a data set, .npy files, or images like those that "
                      "the model will see");
  }
  if (all_of(settings, is_array)) {
    MG_TRY(std::shared_ptr<const SampleSource> source, open_arrays(graph, settings.data));
    return split(std::move(source), nullptr, settings);
  }
  if (all_of(settings, is_images)) {
    MG_TRY(const learn::ImagePreparation preparation,
           preparation_for(graph, settings.mean, settings.deviation, settings.data_dir));
    MG_TRY(std::shared_ptr<const SampleSource> source, open_images(graph, settings.data, preparation));
    return split(std::move(source), nullptr, settings);
  }
  return open_dataset_splits(graph, settings, stop);
}

}  // namespace mangrove::cli

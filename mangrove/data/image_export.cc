#include <algorithm>

#include "mangrove/data/export.h"
#include "mangrove/data/image.h"

namespace mangrove::data {
namespace {

/// A class's name as that of a folder.
std::string folder_name(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

std::string file_name(std::uint32_t index) {
  const std::string digits = std::to_string(index);
  return std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + ".png";
}

}  // namespace

Status write_image_folder(const Dataset& dataset, std::uint32_t first, std::uint32_t last, const fs::path& folder,
                          const std::function<void(std::uint32_t)>& progress, const std::stop_token& stop) {
  const Shape shape = dataset.sample_shape();
  if (shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3))
    return make_error(Code::invalid_argument, "samples of " + to_string(shape) + " are not images of 1 or 3 channels");
  std::vector<float> sample(static_cast<std::size_t>(shape.elements()));
  std::vector<fs::path> folders;
  for (const std::string& name : dataset.class_names()) {
    folders.push_back(folder / folder_name(name));
    MG_RETURN_IF_ERROR(make_writable_folder(folders.back()));
  }
  for (std::uint32_t index = first; index < last; ++index) {
    if (stop.stop_requested())
      return make_error(Code::cancelled, "stopped after " + std::to_string(index - first) + " images");
    MG_RETURN_IF_ERROR(dataset.read(index, sample));
    const Image image =
        from_planar(sample, static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]));
    MG_RETURN_IF_ERROR(write_file_atomically(folders[static_cast<std::size_t>(dataset.label(index))] / file_name(index),
                                             encode_png(image)));
    progress(index - first + 1);
  }
  return {};
}

}  // namespace mangrove::data

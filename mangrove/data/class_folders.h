#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/data/dataset.h"
#include "mangrove/data/image.h"
#include "mangrove/data/spec.h"

namespace mangrove::data {

/// A file or folder that holds one sample.
struct ClassEntry {
  fs::path path;
  std::int32_t label;
  std::size_t rank = 0;  // among those of its class
};

/// Samples in class folders: PATH/CLASS/*, or with splits, PATH/train/CLASS/*, and val (or valid, validation) and test
/// beside train.
struct ClassFolders {
  std::vector<std::string> classes;  // the folders of the training split, in the order of their names
  std::vector<ClassEntry> entries;   // of the split: the first of each class, then the second of each
  fs::path first;                    // entry of the training split
};
/// is_sample: whether a path may be one; hidden ones are left out. samples: what such are called. Nothing where there
/// are splits but not this one; without splits, all is the training split.
/// errors: not_found (no such folder, no samples), data_loss (another split has a class that training has not).
Result<std::optional<ClassFolders>> list_class_folders(const fs::path& root, Split split,
                                                       bool (*is_sample)(const fs::path&), const std::string& samples);

/// What is in a folder, hidden things left out, in the order of the names. errors: not_found.
Result<std::vector<fs::path>> list_folder(const fs::path& folder);
bool is_folder(const fs::path& path);

/// [channels, height, width] of images, by the options size (SIDE or WIDTHxHEIGHT) and channels (1 or 3); what is not
/// given is as that of the first image, which is loaded only then. errors: invalid_argument (options), those of first.
Result<Shape> image_shape(const DatasetSpec& spec, const std::function<Result<Image>()>& load_first);

}  // namespace mangrove::data

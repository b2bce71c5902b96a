#pragma once

#include "mangrove/data/dataset.h"
#include "mangrove/data/spec.h"

namespace mangrove::data {

/// folder:PATH[,size=96][,channels=3]: images in class folders, PATH/CLASS/*.jpg, or with splits, PATH/train/CLASS/*,
/// and val (or valid, validation) and test beside train. JPEG, PNG, PPM and PGM; other files and hidden ones are left
/// out. Images are decoded when they are read, scaled so that the shorter side fits and cut to the middle.
///   size      SIDE or WIDTHxHEIGHT; without it, that of the first image of the training split
///   channels  1 or 3; without it, as the first image has
/// Classes are the folders of the training split in the order of their names; samples are the first image of each
/// class, then the second of each, so that the first so many have all classes. Null where the folder has splits but not
/// this one; where it has none, all is the training split.
/// errors: not_found (no such folder, no images), invalid_argument (options), data_loss (another split has a class that
/// training has not; an image that cannot be decoded: then, read() does).
Result<std::shared_ptr<const Dataset>> open_image_folder(const DatasetSpec& spec, Split split,
                                                         const DataFolder& folder);

}  // namespace mangrove::data

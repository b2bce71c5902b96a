#pragma once

#include "mangrove/data/dataset.h"
#include "mangrove/data/spec.h"

namespace mangrove::data {

/// clips:PATH[,frames=8][,size=96][,channels=3]: short videos in class folders, PATH/CLASS/*, or with splits as those
/// of images (see image_folder.h). A clip is a Motion-JPEG file (.avi, .mjpeg, .mjpg; see find_frames) or a folder of
/// images, its frames in the order of their names. Of each clip `frames` are taken: those in the middle of as many
/// equal parts, so that a short clip has some more than once. A sample is [frames * channels, H, W], the channels of
/// one frame after those of the other, so that every network for images takes it (early fusion).
///   size, channels  as of images; without them, as the first frame of the training split has
/// Null where there are splits but not this one. errors: not_found (no such folder, no clips), invalid_argument
/// (options), data_loss (another split has a class that training has not; a clip or frame that cannot be decoded: then,
/// read() does).
/// source: Karpathy et al., Large-scale video classification with convolutional neural networks, CVPR 2014 (early
///         fusion); Wang et al., Temporal segment networks, ECCV 2016 (a frame of each of equal parts).
Result<std::shared_ptr<const Dataset>> open_clip_folder(const DatasetSpec& spec, Split split, const DataFolder& folder);

}  // namespace mangrove::data

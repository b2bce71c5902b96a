#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/data/image.h"
#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// What is done to the pixels of an image, after division by 255.
struct ImagePreparation {
  // Channels are (pixel / 255 - mean) / deviation; one number for all channels, or one for each.
  std::vector<float> mean{0};
  std::vector<float> deviation{1};
  std::shared_ptr<const data::Augmentation> as_trained = {};  // after that; null: nothing
};

/// "0.485,0.456,0.406" as numbers. errors: invalid_argument.
Result<std::vector<float>> parse_numbers(const std::string& text);

/// The mean and the deviation in the metadata of a network; those that it lacks change nothing.
/// errors: invalid_argument (no numbers; names the key).
Result<ImagePreparation> image_numbers_of(const std::map<std::string, std::string>& metadata);

/// What images need for a network with these metadata: as its samples were prepared in training, else the numbers in
/// the metadata. sample: [C, H, W]. errors: those of preparation_of() and image_numbers_of().
Result<ImagePreparation> image_preparation_of(const std::map<std::string, std::string>& metadata, const Shape& sample,
                                              const data::DataFolder& data_folder);

/// Whether a network with these inputs takes images that are so prepared: it has one input, f32 [N, 1 or 3, H, W].
/// errors: invalid_argument (another input, another number of channels, a deviation that is not above 0).
Status check_takes_images(const std::vector<std::pair<std::string, ValueInfo>>& inputs,
                          const ImagePreparation& preparation);

/// Resizes an image so that it covers H x W, crops it in the middle and prepares it. sample: [C, H, W]. out: as many
/// elements. REQUIRES check_takes_images().
void prepare_image(data::Image image, const Shape& sample, const ImagePreparation& preparation, std::span<float> out);

}  // namespace mangrove::learn

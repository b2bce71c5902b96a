#include "mangrove/learn/image_input.h"

#include <algorithm>
#include <charconv>

#include "mangrove/base/format.h"
#include "mangrove/base/random.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::learn {

Result<std::vector<float>> parse_numbers(const std::string& text) {
  std::vector<float> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    float number = 0;
    const auto [stop, code] = std::from_chars(at, end, number);
    if (code != std::errc() || !(number > -1e9f && number < 1e9f) || (stop != end && *stop != ',')) {
      return make_error(Code::invalid_argument, "'" + text + "' is not a list of numbers like 0.485,0.456,0.406");
    }
    numbers.push_back(number);
    if (stop == end) return numbers;
    at = stop + 1;
  }
}

Result<ImagePreparation> image_numbers_of(const std::map<std::string, std::string>& metadata) {
  ImagePreparation result;
  for (const auto& [key, numbers] : {std::pair("mangrove.mean", &result.mean), {"mangrove.std", &result.deviation}}) {
    const auto stored = metadata.find(key);
    if (stored == metadata.end()) continue;
    MG_TRY(*numbers, parse_numbers(stored->second).context("model metadata " + std::string(key)));
  }
  return result;
}

Result<ImagePreparation> image_preparation_of(const std::map<std::string, std::string>& metadata, const Shape& sample,
                                              const data::DataFolder& data_folder) {
  ImagePreparation result;
  MG_TRY(result.as_trained, preparation_of(metadata, sample, data_folder));
  if (result.as_trained != nullptr) return result;
  return image_numbers_of(metadata);
}

Status check_takes_images(const std::vector<std::pair<std::string, ValueInfo>>& inputs,
                          const ImagePreparation& preparation) {
  const bool single = inputs.size() == 1;
  const Shape shape = inputs.empty() ? Shape{} : inputs[0].second.shape;
  const bool batch_first = !shape.is_symbolic() || shape.batch_axis() == 0u;
  if (!single || inputs[0].second.dtype != DType::f32 || shape.rank() != 4 || !batch_first ||
      (shape[1] != 1 && shape[1] != 3) || std::max(shape[2], shape[3]) > data::kMaxImageSide) {
    return make_error(Code::invalid_argument,
                      "the model takes no images: it has " + format_things(std::ssize(inputs), "input") +
                          (single ? " of shape " + to_string(shape) : "") + ", expected f32 [N, 1 or 3, H, W]");
  }
  for (const auto& [what, numbers] : {std::pair("mean", &preparation.mean), {"std", &preparation.deviation}}) {
    if (numbers->size() == 1 || static_cast<std::int64_t>(numbers->size()) == shape[1]) continue;
    return make_error(Code::invalid_argument, std::string(what) + " has " + std::to_string(numbers->size()) +
                                                  " numbers, the model takes " + std::to_string(shape[1]) +
                                                  " channels");
  }
  if (std::ranges::any_of(preparation.deviation, [](float d) { return !(d > 0); }))
    return make_error(Code::invalid_argument, "std: a number is not above 0");
  return {};
}

void prepare_image(data::Image image, const Shape& sample, const ImagePreparation& preparation, std::span<float> out) {
  image = data::to_channels(std::move(image), static_cast<int>(sample[0]));
  image = data::resize_and_crop(image, static_cast<int>(sample[2]), static_cast<int>(sample[1]));
  data::to_planar(image, out);
  const std::size_t plane = out.size() / static_cast<std::size_t>(sample[0]);
  for (std::size_t c = 0; c * plane < out.size(); ++c) {
    const float mean = preparation.mean[std::min(c, preparation.mean.size() - 1)];
    const float deviation = preparation.deviation[std::min(c, preparation.deviation.size() - 1)];
    for (float& pixel : out.subspan(c * plane, plane)) pixel = (pixel - mean) / deviation;
  }
  Random unused(0);  // nothing is random outside training
  if (preparation.as_trained != nullptr) preparation.as_trained->apply(out, {&unused, 1}, /*training=*/false);
}

}  // namespace mangrove::learn

#include "mangrove/infer/pipeline/frame_samples.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mangrove/data/image.h"
#include "mangrove/learn/class_names.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {
namespace {

static_assert(std::endian::native == std::endian::little, "values travel as they lie in memory");

constexpr std::size_t kLongestReason = 200;  // it travels with the micro-batch

/// A picture that is as long to decode as others.
std::string picture_of(const Shape& shape) {
  data::Image image{static_cast<int>(shape[2]), static_cast<int>(shape[1]), static_cast<int>(shape[0]), {}};
  image.pixels.resize(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * i / 7);
  return data::encode_png(image);
}

Status decode_image_into(const std::string& file, const Shape& shape, std::span<float> out) {
  MG_TRY(data::Image image, data::decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}));
  image = data::to_channels(std::move(image), static_cast<int>(shape[0]));
  data::to_planar(data::resize_and_crop(image, static_cast<int>(shape[2]), static_cast<int>(shape[1])), out);
  return {};
}

}  // namespace

std::vector<std::string> class_names_of(const Graph& graph) {
  const auto outputs = graph.value(graph.outputs().front()).shape.dims().back();
  std::vector<std::string> names = learn::class_names(graph);
  if (std::ssize(names) == outputs) return names;
  names.clear();
  for (std::int64_t c = 0; c < outputs; ++c) names.push_back(std::to_string(c));
  return names;
}

FrameSamples::FrameSamples(Kind kind, Shape shape, std::vector<std::string> classes)
    : kind_(kind),
      shape_(std::move(shape)),
      classes_(std::move(classes)),
      example_(std::make_shared<const std::string>(
          kind == Kind::images ? picture_of(shape_)
                               : std::string(static_cast<std::size_t>(shape_.elements()) * sizeof(float), '\0'))) {}

Result<std::shared_ptr<FrameSamples>> FrameSamples::create(const Graph& graph, Kind kind) {
  MG_RETURN_IF_ERROR(learn::check_classifier(graph));
  const Shape input = graph.inputs().front().second.shape;
  if (kind == Kind::values) {
    const std::vector<std::int64_t> sample(input.dims().begin() + 1, input.dims().end());
    return std::shared_ptr<FrameSamples>(new FrameSamples(kind, Shape(sample), class_names_of(graph)));
  }
  const bool is_image = input.rank() == 4 && (input[1] == 1 || input[1] == 3) && input[2] <= data::kMaxImageSide &&
                        input[3] <= data::kMaxImageSide;
  if (!is_image)
    return make_error(Code::invalid_argument, "input: network '" + graph.name() + "' takes no images: its input is " +
                                                  to_string(input) + ", expected [N, 1 or 3, H, W]");
  return std::shared_ptr<FrameSamples>(
      new FrameSamples(kind, Shape({input[1], input[2], input[3]}), class_names_of(graph)));
}

Status FrameSamples::decode(const std::string& file, std::span<float> out) const {
  if (kind_ == Kind::images) return decode_image_into(file, shape_, out);
  if (file.size() != out.size_bytes())
    return make_error(Code::invalid_argument, std::to_string(file.size()) + " bytes of values, where a sample has " +
                                                  std::to_string(out.size_bytes()));
  std::memcpy(out.data(), file.data(), file.size());
  return {};
}

Status FrameSamples::read(std::uint32_t index, std::span<float> out) const {
  std::shared_ptr<const std::string> file = example_;
  {
    MutexLock lock(mutex_);
    const auto found = frames_.find(index);
    if (found != frames_.end()) file = found->second.file;
  }
  const Status decoded = decode(*file, out);
  if (decoded.ok()) return {};
  std::ranges::fill(out, 0.0f);
  MutexLock lock(mutex_);
  const auto found = frames_.find(index);
  if (found != frames_.end()) found->second.problem = decoded.error().message.substr(0, kLongestReason);
  return {};
}

std::vector<Unreadable> FrameSamples::remove(const std::vector<std::uint32_t>& numbers) {
  MutexLock lock(mutex_);
  std::vector<Unreadable> unreadable;
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const auto found = frames_.find(numbers[row]);
    if (found == frames_.end()) continue;
    if (!found->second.problem.empty()) {
      unreadable.emplace_back().set_row(static_cast<std::uint32_t>(row));
      unreadable.back().set_reason(found->second.problem);
    }
    frames_.erase(found);
  }
  return unreadable;
}

}  // namespace mangrove::infer

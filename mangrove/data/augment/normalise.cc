#include <array>
#include <charconv>

#include "mangrove/data/augment/transform.h"
#include "mangrove/data/statistics.h"

namespace mangrove::data {
namespace {

class Normalise final : public SampleTransform {
 public:
  Normalise(std::size_t plane, std::vector<float> mean, std::vector<float> deviation)
      : plane_(plane), mean_(std::move(mean)) {
    for (const float value : deviation) factor_.push_back(1 / value);
  }

 private:
  void apply_one(std::span<float> sample, Random&) const override {
    for (std::size_t c = 0; c < mean_.size(); ++c)
      for (float& value : sample.subspan(c * plane_, plane_)) value = (value - mean_[c]) * factor_[c];
  }

  std::size_t plane_;
  std::vector<float> mean_, factor_;
};

/// "0.49/0.48/0.45", one number per channel.
Result<std::vector<float>> parse_list(const std::string& text, std::size_t channels, float least) {
  std::vector<float> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    float number = 0;
    const auto [stop, code] = std::from_chars(at, end, number);
    if (code != std::errc() || !(number >= least) || number > 1e30f || (stop < end && *stop != '/')) break;
    numbers.push_back(number);
    at = stop == end ? end : stop + 1;
  }
  if (at == end && numbers.size() == channels) return numbers;
  return make_error(Code::invalid_argument, "'" + text + "' is not " + std::to_string(channels) +
                                                " numbers with / between them, one for each channel" +
                                                (least > 0 ? ", above 0" : ""));
}

/// The shortest text that reads back as the same numbers.
std::string to_list(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) {
    std::array<char, 32> digits{};
    const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    text += (text.empty() ? "" : "/") + std::string(digits.data(), end);
  }
  return text;
}

Status compute_arguments(RecipeItem& item, const TransformContext& context) {
  MG_TRY(const auto train, open_training_samples(context));
  MG_TRY(const ChannelStatistics statistics, channel_statistics(*train));
  std::vector<float> mean, deviation;
  for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
    mean.push_back(static_cast<float>(statistics.mean[c]));
    const auto spread = static_cast<float>(statistics.deviation[c]);
    deviation.push_back(spread > 1e-6f ? spread : 1.0f);  // a channel that never changes becomes zero
  }
  item.arguments = {to_list(mean), to_list(deviation)};
  return {};
}

}  // namespace

MadeTransform make_normalise(RecipeItem& item, const TransformContext& context) {
  if (item.arguments.empty()) MG_RETURN_IF_ERROR(compute_arguments(item, context));
  if (item.arguments.size() != 2)
    return make_error(Code::invalid_argument, "one list found, means and deviations expected");
  MG_TRY(auto mean, parse_list(item.arguments[0], context.planes.channels, -1e30f));
  MG_TRY(auto deviation, parse_list(item.arguments[1], context.planes.channels, 1e-30f));
  return std::make_unique<const Normalise>(context.planes.plane(), std::move(mean), std::move(deviation));
}

}  // namespace mangrove::data

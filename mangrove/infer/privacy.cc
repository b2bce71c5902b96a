#include "mangrove/infer/privacy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr std::string_view kSplit = "split@", kLevels = "levels=", kNoise = "noise=", kTrained = "trained=";
constexpr std::int64_t kMostLevels = 256;
constexpr double kMostNoise = 1000;
constexpr Bytes kRangeBytes = 2 * sizeof(float);

/// True: all of the text is a number.
template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

int bits_of(const Privacy& privacy) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(privacy.levels - 1)));
}

void add_noise(std::span<float> values, double scale, Random& random) {
  double sum = 0, squares = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const float value : values) squares += (value - mean) * (value - mean);
  const double width = scale * std::sqrt(squares / static_cast<double>(values.size()));
  constexpr double kMost = std::numeric_limits<float>::max();
  for (float& value : values) value = static_cast<float>(std::clamp(value + laplace(random, width), -kMost, kMost));
}

/// One of the tensors.
void add_one_of(std::span<const float> trained, std::span<float> values, Random& random) {
  const std::span<const float> one = trained.subspan(random.below(trained.size() / values.size()) * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += one[i];
}

void append_levels(std::string& payload, const Privacy& privacy, std::span<const float> values) {
  float least = std::numeric_limits<float>::infinity(), largest = -least;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  if (least > largest) least = largest = 0;  // no number is among them
  const auto steps = static_cast<float>(privacy.levels - 1);
  const float step = largest / steps - least / steps;
  net::append_floats(payload, std::array{least, step});
  std::uint64_t pending = 0;
  int held = 0;
  for (const float value : values) {
    const float level = step > 0 ? std::round((value - least) / step) : 0;
    const float most = static_cast<float>(privacy.levels - 1);
    pending |= static_cast<std::uint64_t>(std::isnan(level) ? 0 : std::clamp(level, 0.0f, most)) << held;
    for (held += bits_of(privacy); held >= 8; held -= 8, pending >>= 8) payload += static_cast<char>(pending & 0xff);
  }
  if (held > 0) payload += static_cast<char>(pending & 0xff);
}

}  // namespace

Result<Privacy> parse_privacy(std::string_view text) {
  const auto wrong = [&] {
    return make_error(
        Code::invalid_argument,
        "privacy: expected split@LAYER, perhaps with ,levels=K (2 to 256), ,noise=SCALE (above 0, to 1000) and "
        ",trained=FILE behind it, such as split@conv1,levels=16; got '" +
            std::string(text) + "'");
  };
  Privacy privacy;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.starts_with(kSplit) && privacy.layer.empty()) {
      privacy.layer = part.substr(kSplit.size());
    } else if (part.starts_with(kLevels) && privacy.levels == 0) {
      const bool is_number = read_number(part.substr(kLevels.size()), privacy.levels);
      if (!is_number || privacy.levels < 2 || privacy.levels > kMostLevels) return wrong();
    } else if (part.starts_with(kNoise) && privacy.noise == 0) {
      const bool is_number = read_number(part.substr(kNoise.size()), privacy.noise);
      if (!is_number || !(privacy.noise > 0 && privacy.noise <= kMostNoise)) return wrong();
    } else if (part.starts_with(kTrained) && part != kTrained && privacy.trained.empty()) {
      privacy.trained = part.substr(kTrained.size());
    } else {
      return wrong();
    }
  }
  if (privacy.layer.empty() || !text.starts_with(kSplit)) return wrong();
  return privacy;
}

std::string to_text(const Privacy& privacy) {
  std::string text = std::string(kSplit) + privacy.layer;
  if (privacy.levels > 0) text += "," + std::string(kLevels) + std::to_string(privacy.levels);
  if (privacy.noise > 0) {
    std::array<char, 32> digits;  // enough for the shortest text of any double
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), privacy.noise).ptr;
    text += "," + std::string(kNoise) + std::string(digits.data(), end);
  }
  if (!privacy.trained.empty()) text += "," + std::string(kTrained) + privacy.trained;
  return text;
}

Result<GraphHalves> split_for_privacy(const Graph& graph, const std::string& layer) {
  MG_TRY(GraphHalves halves, split_behind(graph, layer));
  if (multiply_adds(halves.front, 1) > 0) return halves;
  return make_error(Code::invalid_argument, "split@" + layer +
                                                ": no convolution or dense layer lies before it, so that " +
                                                "devices would get the samples themselves");
}

Bytes sent_bytes(const Privacy& privacy, std::int64_t values) {
  if (privacy.levels == 0) return values * static_cast<Bytes>(sizeof(float));
  return kRangeBytes + (values * bits_of(privacy) + 7) / 8;
}

void append_sent(std::string& payload, const Privacy& privacy, std::span<const float> values, Random random,
                 std::span<const float> trained) {
  MG_CHECK(privacy.trained.empty() == trained.empty());
  std::vector<float> noisy;
  if ((privacy.noise > 0 || !trained.empty()) && !values.empty()) {
    noisy.assign(values.begin(), values.end());
    if (privacy.noise > 0) add_noise(noisy, privacy.noise, random);
    if (!trained.empty()) add_one_of(trained, noisy, random);
    values = noisy;
  }
  if (privacy.levels == 0) {
    net::append_floats(payload, values);
  } else {
    append_levels(payload, privacy, values);
  }
}

Status read_sent(std::string_view bytes, const Privacy& privacy, std::span<float> values) {
  const Bytes expected = sent_bytes(privacy, std::ssize(values));
  if (std::ssize(bytes) != expected)
    return make_error(Code::data_loss, "got " + std::to_string(bytes.size()) + " bytes of " +
                                           std::to_string(values.size()) + " values, expected " +
                                           std::to_string(expected));
  if (privacy.levels == 0) return net::read_floats(bytes, values);
  std::array<float, 2> range{};
  MG_RETURN_IF_ERROR(net::read_floats(bytes.substr(0, kRangeBytes), range));
  bytes.remove_prefix(kRangeBytes);
  std::uint64_t pending = 0;
  int held = 0;
  for (float& value : values) {
    for (; held < bits_of(privacy); held += 8, bytes.remove_prefix(1))
      pending |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes.front())) << held;
    const std::uint64_t level = pending & ((std::uint64_t{1} << bits_of(privacy)) - 1);
    value = range[0] + range[1] * static_cast<float>(level);
    pending >>= bits_of(privacy);
    held -= bits_of(privacy);
  }
  return {};
}

double laplace(Random& random, double width) {
  const double u = random.uniform() - 0.5;  // [-0.5, 0.5)
  const double tail = std::max(1 - 2 * std::abs(u), std::numeric_limits<double>::min());
  return (u < 0 ? width : -width) * std::log(tail);
}

}  // namespace mangrove::infer

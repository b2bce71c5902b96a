#include "mangrove/privacy/split.h"

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

namespace mangrove::privacy {
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

int bits_of(const PrivacySetting& privacy) {
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

/// Levels are written eight at a time, which are as many bytes as a level has bits; the last ones fill up with
/// zeros.
constexpr std::size_t kGroup = 8;

/// The least and the largest finite value; zeros where there is none.
std::array<float, 2> range_of(std::span<const float> values) {
  constexpr float kInfiniteValue = std::numeric_limits<float>::infinity();
  std::array<float, kGroup> least, largest;  // of every eighth value, so that GCC vectorises the loop
  least.fill(kInfiniteValue);
  largest.fill(-kInfiniteValue);
  for (std::size_t i = 0; i < values.size(); i += kGroup) {
    for (std::size_t j = 0; j < std::min(kGroup, values.size() - i); ++j) {
      const float value = values[i + j];
      const bool is_finite = std::abs(value) < kInfiniteValue;
      least[j] = is_finite && value < least[j] ? value : least[j];
      largest[j] = is_finite && value > largest[j] ? value : largest[j];
    }
  }
  const std::array range{std::ranges::min(least), std::ranges::max(largest)};
  return range[0] <= range[1] ? range : std::array<float, 2>{};
}

/// range: the least value, and the distance of two levels. What is no number is level 0.
std::uint64_t pack(std::span<const float> group, std::array<float, 2> range, float most, int bits) {
  std::array<std::uint32_t, kGroup> levels{};
  for (std::size_t j = 0; j < group.size(); ++j) {
    const float level = range[1] > 0 ? (group[j] - range[0]) / range[1] : 0;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): it is never negative
    levels[j] = static_cast<std::uint32_t>((level > 0 ? std::min(level, most) : 0) + 0.5f);
  }
  std::uint64_t packed = 0;
  for (std::size_t j = 0; j < kGroup; ++j) packed |= std::uint64_t{levels[j]} << (j * static_cast<std::size_t>(bits));
  return packed;
}

void append_levels(std::string& payload, const PrivacySetting& privacy, std::span<const float> values) {
  const auto most = static_cast<float>(privacy.levels - 1);
  std::array<float, 2> range = range_of(values);
  range[1] = range[1] / most - range[0] / most;
  net::append_floats(payload, range);
  const int bits = bits_of(privacy);
  std::size_t written = payload.size();
  payload.resize(written + static_cast<std::size_t>(sent_bytes(privacy, std::ssize(values)) - kRangeBytes));
  for (; !values.empty(); values = values.subspan(std::min(kGroup, values.size()))) {
    std::uint64_t packed = pack(values.first(std::min(kGroup, values.size())), range, most, bits);
    const std::size_t end = std::min(written + static_cast<std::size_t>(bits), payload.size());
    for (; written < end; packed >>= 8) payload[written++] = static_cast<char>(packed & 0xff);
  }
}

}  // namespace

Result<PrivacySetting> parse_privacy(std::string_view text) {
  const auto wrong = [&] {
    return make_error(
        Code::invalid_argument,
        "privacy: expected split@LAYER, perhaps with ,levels=K (2 to 256), ,noise=SCALE (above 0, to 1000) and "
        ",trained=FILE behind it, such as split@conv1,levels=16; got '" +
            std::string(text) + "'");
  };
  PrivacySetting privacy;
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

std::string to_text(const PrivacySetting& privacy) {
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

Bytes sent_bytes(const PrivacySetting& privacy, std::int64_t values) {
  if (privacy.levels == 0) return values * static_cast<Bytes>(sizeof(float));
  return kRangeBytes + (values * bits_of(privacy) + 7) / 8;
}

void append_sent(std::string& payload, const PrivacySetting& privacy, std::span<const float> values, Random random,
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

Status read_sent(std::string_view bytes, const PrivacySetting& privacy, std::span<float> values) {
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
  const int bits = bits_of(privacy);
  int held = 0;
  for (float& value : values) {
    for (; held < bits; held += 8, bytes.remove_prefix(1))
      pending |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes.front())) << held;
    const std::uint64_t level = pending & ((std::uint64_t{1} << bits) - 1);
    value = range[0] + range[1] * static_cast<float>(level);
    pending >>= bits;
    held -= bits;
  }
  return {};
}

double laplace(Random& random, double width) {
  const double u = random.uniform() - 0.5;  // [-0.5, 0.5)
  const double tail = std::max(1 - 2 * std::abs(u), std::numeric_limits<double>::min());
  return (u < 0 ? width : -width) * std::log(tail);
}

}  // namespace mangrove::privacy

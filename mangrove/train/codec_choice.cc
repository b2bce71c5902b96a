#include "mangrove/train/codec_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "mangrove/base/check.h"

namespace mangrove::train {
namespace {

constexpr std::array<std::string_view, 6> kCandidates = {"none",    "fp16",        "int8",
                                                         "one_bit", "top_k(0.01)", "two_step(0.01)"};
constexpr int kSkipped = 2;            // first steps with a codec, and without: memory is touched for the first time
constexpr std::size_t kMeasured = 5;   // steps
constexpr double kLeastGain = 0.03;    // of a step; less is within what two measurements differ by

Seconds median(std::vector<Seconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::string milliseconds(Seconds time) {
  return fmt::format("{:.3g} ms", time * 1000);
}

}  // namespace

double PlainExchange::bytes_per_s() const {
  return wire > 0 ? static_cast<double>(wire_bytes) / wire : std::numeric_limits<double>::infinity();
}

CodecChoice choose_codec(std::span<const CodecTrial> trials, const PlainExchange& plain) {
  const double rate = plain.bytes_per_s();
  const auto both_ways = [&](std::size_t bytes) { return 2 * static_cast<double>(bytes) / rate; };
  const auto exchange = [&](const CodecTrial& trial) {
    return both_ways(trial.bytes) + 2 * trial.encode + static_cast<double>(plain.workers + 3) * trial.decode;
  };
  CodecChoice choice{.codec = "none", .plain = both_ways(plain.float_bytes)};
  choice.exchange = choice.plain;
  choice.bytes_per_s = plain.wire > 0 ? rate : 0;
  const auto best = std::min_element(trials.begin(), trials.end(), [&](const CodecTrial& a, const CodecTrial& b) {
    return exchange(a) < exchange(b);
  });
  const std::string link = plain.wire > 0 ? fmt::format("the link moves {:.3g} MB/s", rate / 1e6)
                                          : std::string("the link takes no time that could be measured");
  if (best == trials.end() || exchange(*best) > choice.plain - kLeastGain * plain.step) {
    choice.why = fmt::format("{}: an exchange of floats takes {} of a step of {}", link, milliseconds(choice.plain),
                             milliseconds(plain.step));
    if (best != trials.end()) choice.why += fmt::format("; {} would take {}", best->codec, milliseconds(exchange(*best)));
    return choice;
  }
  choice.codec = best->codec;
  choice.exchange = exchange(*best);
  choice.why = fmt::format("{}: an exchange takes {} in place of {} of a step of {}", link,
                           milliseconds(choice.exchange), milliseconds(choice.plain), milliseconds(plain.step));
  return choice;
}

std::span<const std::string_view> CodecChooser::candidates() {
  return kCandidates;
}

bool CodecChooser::is_candidate(std::string_view codec) {
  return std::find(kCandidates.begin(), kCandidates.end(), codec) != kCandidates.end();
}

CodecChooser::CodecChooser(Clock& clock, codec::Stream stream, std::size_t workers)
    : clock_(clock), stream_(std::move(stream)), workers_(workers), skip_(kSkipped) {}

std::optional<CodecChoice> CodecChooser::next(std::span<const float> update, Seconds wire, std::size_t wire_bytes) {
  if (phase_ == Phase::settled || !measured(wire, wire_bytes)) return std::nullopt;
  return phase_ == Phase::plain ? decide(update) : judge();
}

/// Whether that were enough.
bool CodecChooser::measured(Seconds wire, std::size_t wire_bytes) {
  const Instant now = clock_.now();
  const std::optional<Instant> before = std::exchange(last_, now);
  if (!before || skip_-- > 0) return false;
  steps_.push_back(now - *before);
  wires_.push_back(wire);
  wire_bytes_ = wire_bytes;
  return steps_.size() == kMeasured;
}

std::vector<CodecTrial> CodecChooser::try_all(std::span<const float> update) {
  std::vector<CodecTrial> trials;
  std::vector<float> decoded(update.size());
  for (const std::string_view text : candidates().subspan(1)) {
    const auto codec = codec::make_codec(text, stream_).value();
    const Instant start = clock_.now();
    const std::string message = codec->encode(update);
    const Instant middle = clock_.now();
    MG_CHECK(codec->decode(message, decoded).ok());
    trials.push_back({std::string(text), message.size(), middle - start, clock_.now() - middle});
  }
  return trials;
}

std::optional<CodecChoice> CodecChooser::decide(std::span<const float> update) {
  const PlainExchange plain{.step = median(steps_),
                            .wire = median(wires_),
                            .wire_bytes = wire_bytes_,
                            .float_bytes = update.size_bytes(),
                            .workers = workers_};
  choice_ = choose_codec(try_all(update), plain);
  plain_step_ = plain.step;
  phase_ = choice_.codec == "none" ? Phase::settled : Phase::trying;
  steps_.clear();
  wires_.clear();
  skip_ = kSkipped;
  last_ = clock_.now();  // trying took its time
  return choice_;
}

std::optional<CodecChoice> CodecChooser::judge() {
  phase_ = Phase::settled;
  const Seconds step = median(steps_);
  if (step <= (1 + kLeastGain) * plain_step_) return std::nullopt;
  CodecChoice none{.codec = "none", .exchange = choice_.plain, .plain = choice_.plain, .bytes_per_s = choice_.bytes_per_s};
  none.why = fmt::format("with {} a step took {} in place of {}", choice_.codec, milliseconds(step),
                         milliseconds(plain_step_));
  return none;
}

}  // namespace mangrove::train

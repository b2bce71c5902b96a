#include "mangrove/train/compression/codec_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/format.h"
#include "mangrove/base/median.h"

namespace mangrove::train {
namespace {

constexpr std::array<std::string_view, 6> kCandidates = {"none",    "fp16",        "int8",
                                                         "one_bit", "top_k(0.01)", "two_step(0.01)"};
constexpr std::string_view kFirst = "one_bit";
constexpr int kSkipped = 1;           // steps with a codec after the first one: memory is touched for the first time
constexpr std::size_t kMeasured = 5;  // steps
// steps after which all others, for whom everyone waits, have measured floats too
constexpr int kOthersMeasure = 2 + kSkipped + static_cast<int>(kMeasured);
constexpr double kLeastGain = 0.03;   // of a step; less is within what two measurements differ by
constexpr double kHopeless = 4;       // steps with small messages that an exchange of floats takes, not to be tried
constexpr double kPlainlySlower = 2;  // than steps with small messages: one step shows it

}  // namespace

double PlainExchange::bytes_per_s() const {
  return wire > 0 ? static_cast<double>(wire_bytes) / wire : std::numeric_limits<double>::infinity();
}

CodecChoice choose_codec(std::span<const CodecTrial> trials, const PlainExchange& plain) {
  const auto exchange = [&](const CodecTrial& trial) {
    return plain.both_ways(trial.bytes) + 2 * trial.encode + static_cast<double>(plain.workers + 3) * trial.decode;
  };
  CodecChoice choice{.codec = "none", .plain = plain.both_ways(plain.float_bytes)};
  choice.exchange = choice.plain;
  choice.bytes_per_s = plain.wire > 0 ? plain.bytes_per_s() : 0;
  const auto best = std::min_element(trials.begin(), trials.end(), [&](const CodecTrial& a, const CodecTrial& b) {
    return exchange(a) < exchange(b);
  });
  const std::string link =
      plain.wire > 0 ? fmt::format("the link moves {}/s", format_bytes(static_cast<Bytes>(plain.bytes_per_s())))
                     : std::string("the link takes no time that could be measured");
  if (best == trials.end() || exchange(*best) > choice.plain - kLeastGain * plain.step) {
    choice.why = fmt::format("{}: an exchange of floats takes {} of a step of {}", link, format_seconds(choice.plain),
                             format_seconds(plain.step));
    if (best != trials.end())
      choice.why += fmt::format("; {} would take {}", best->codec, format_seconds(exchange(*best)));
    return choice;
  }
  choice.codec = best->codec;
  choice.exchange = exchange(*best);
  choice.why = fmt::format("{}: an exchange takes {} in place of {} of a step of {}", link,
                           format_seconds(choice.exchange), format_seconds(choice.plain), format_seconds(plain.step));
  return choice;
}

std::span<const std::string_view> CodecChooser::candidates() {
  return kCandidates;
}

bool CodecChooser::is_candidate(std::string_view codec) {
  return std::find(kCandidates.begin(), kCandidates.end(), codec) != kCandidates.end();
}

std::string_view CodecChooser::first() {
  return kFirst;
}

CodecChooser::CodecChooser(Clock& clock, codec::Stream stream, std::size_t workers)
    : clock_(clock), stream_(std::move(stream)), workers_(workers) {
  begin(Phase::small, std::string(kFirst));
}

std::optional<CodecChoice> CodecChooser::next(std::span<const float> update, Seconds wire, std::size_t wire_bytes) {
  if (phase_ == Phase::settled) return std::nullopt;
  const std::optional<Measured> measured = measure(wire, wire_bytes);
  if (!measured) return std::nullopt;
  if (phase_ == Phase::small) return after_small(update, *measured);
  if (phase_ == Phase::trying) return judge(*measured);
  if (measured->step < best_.step) best_ = *measured;
  return decide(update, plain_exchange(update, *measured));
}

PlainExchange CodecChooser::plain_exchange(std::span<const float> update, const Measured& by) const {
  return {.step = by.step,
          .wire = by.wire,
          .wire_bytes = by.wire_bytes,
          .float_bytes = update.size_bytes(),
          .workers = workers_};
}

void CodecChooser::begin(Phase phase, const std::string& codec) {
  phase_ = phase;
  codec_ = codec;
  skip_ = kSkipped;
  steps_.clear();
  wires_.clear();
  last_.reset();
}

/// Nothing: not enough steps yet.
std::optional<CodecChooser::Measured> CodecChooser::measure(Seconds wire, std::size_t wire_bytes) {
  const Instant now = clock_.now();
  const std::optional<Instant> before = std::exchange(last_, now);
  if (!before) return std::nullopt;
  const Seconds step = now - *before;
  if (phase_ == Phase::plain && step > kPlainlySlower * best_.step) return Measured{codec_, step, wire, wire_bytes};
  if (skip_-- > 0) return std::nullopt;
  steps_.push_back(step);
  wires_.push_back(wire);
  if (steps_.size() < kMeasured) return std::nullopt;
  return Measured{codec_, median(steps_), median(wires_), wire_bytes};
}

/// Small messages make a link seem slower than it is: what they wait for on their way counts as if it were for bytes.
std::optional<CodecChoice> CodecChooser::after_small(std::span<const float> update, const Measured& small) {
  best_ = small;
  PlainExchange plain = plain_exchange(update, small);
  const Seconds exchange = plain.both_ways(plain.float_bytes);
  if (exchange < kHopeless * small.step) {
    begin(Phase::plain, "none");
    return std::nullopt;
  }
  plain.step += exchange - small.wire;
  return decide(update, plain);
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

CodecChoice CodecChooser::decide(std::span<const float> update, const PlainExchange& plain) {
  choice_ = choose_codec(try_all(update), plain);
  begin(choice_.codec == best_.codec ? Phase::settled : Phase::trying, choice_.codec);
  skip_ += kOthersMeasure;
  return choice_;
}

std::optional<CodecChoice> CodecChooser::judge(const Measured& chosen) {
  phase_ = Phase::settled;
  if (chosen.step <= (1 + kLeastGain) * best_.step) return std::nullopt;
  codec_ = best_.codec;
  CodecChoice back = choice_;
  back.codec = codec_;
  back.exchange = best_.wire;
  back.why = fmt::format("with {} a step took {} in place of {}", chosen.codec, format_seconds(chosen.step),
                         format_seconds(best_.step));
  return back;
}

}  // namespace mangrove::train

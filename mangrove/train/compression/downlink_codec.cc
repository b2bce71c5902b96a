#include "mangrove/train/compression/downlink_codec.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/codec_choice.h"
#include "mangrove/train/compression/uplink_codec.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kModel = 1;  // id of the copy that is the job's model; 0 is none

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

DownlinkEncoder::DownlinkEncoder(const TrainJob& job, const Graph& graph)
    : text_(is_auto(job) ? "" : job.downlink_codec()),
      stream_(parameter_stream(graph, job.seed())),
      model_(std::make_shared<const Copy>(Copy{kModel, -1, codec::DifferenceCopy(learn::flat_parameters(graph))})),
      last_id_(kModel) {}

void DownlinkEncoder::forget(net::Rank rank) {
  copies_[rank] = nullptr;
}

/// "none": the values as they are.
const std::string& DownlinkEncoder::codec_of(net::Rank rank) const {
  static const std::string kFirst(CodecChooser::first());
  if (!text_.empty()) return text_;
  const auto found = chosen_.find(rank);
  return found == chosen_.end() ? kFirst : found->second;
}

/// What those who have `base` get to come to this version.
const DownlinkEncoder::Next& DownlinkEncoder::next(const Shared& base, const std::string& codec,
                                                   std::span<const float> parameters) {
  const auto found = to_version_.find({base->id, codec});
  if (found != to_version_.end()) return found->second;
  Copy copy = *base;
  copy.version = version_;
  Next next;
  if (!std::equal(parameters.begin(), parameters.end(), base->parameters.values().begin())) {
    auto& encoder = codecs_[codec];
    if (!encoder) encoder = codec::make_codec(codec, stream_).value();
    next.message = copy.parameters.encode(*encoder, parameters);
    copy.id = ++last_id_;
  }
  next.copy = std::make_shared<const Copy>(std::move(copy));
  return to_version_.emplace(std::pair{base->id, codec}, std::move(next)).first->second;
}

/// For who has nothing: the newest copy that others have, so that one message serves all from now on.
DownlinkEncoder::Shared DownlinkEncoder::whole(const std::string& codec, std::span<const float> parameters) {
  Shared newest;
  for (const auto& [rank, copy] : copies_) {
    if (copy == nullptr || codec_of(rank) != codec || is_plain(codec)) continue;
    if (newest == nullptr || copy->version > newest->version) newest = copy;
  }
  if (newest != nullptr && all_finite(parameters))
    return newest->version == version_ ? newest : next(newest, codec, parameters).copy;
  if (plain_ == nullptr)
    plain_ = std::make_shared<const Copy>(Copy{++last_id_, version_, codec::DifferenceCopy(parameters)});
  return plain_;
}

std::string DownlinkEncoder::body(net::Rank to, Work& work, std::span<const float> values) {
  if (work.version() != std::exchange(version_, work.version())) {
    to_version_.clear();
    plain_ = nullptr;
  }
  const std::span<const float> parameters = values.first(model_->parameters.values().size());
  const std::string& codec = codec_of(to);
  const bool is_first = copies_.try_emplace(to, nullptr).second;
  Shared& copy = copies_[to];
  if (is_first && std::equal(parameters.begin(), parameters.end(), model_->parameters.values().begin())) copy = model_;
  std::string body;
  if (copy != nullptr && !is_plain(codec) &&
      all_finite(parameters)) {  // else training has diverged: let workers see it
    work.set_base(copy->id);
    const Next& following = next(copy, codec, parameters);
    body = following.message;
    copy = following.copy;
    if (text_.empty()) work.set_codec(codec);
  } else {
    copy = whole(codec, parameters);
    net::append_floats(body, copy->parameters.values());
    net::append_floats(body, values.subspan(parameters.size()));
  }
  work.set_copy(copy->id);
  return body;
}

DownlinkDecoder::DownlinkDecoder(const TrainJob& job, const Graph& graph)
    : text_(is_auto(job) ? "" : job.downlink_codec()),
      stream_(parameter_stream(graph, job.seed())),
      parameters_(learn::flat_parameters(graph)),
      states_(learn::flat_states(graph)),
      copy_(kModel) {}

/// Null: it is none to choose.
codec::Codec* DownlinkDecoder::codec_of(const Work& work) {
  const std::string& text = text_.empty() ? work.codec() : text_;
  if (text_.empty() && !CodecChooser::is_candidate(text)) return nullptr;
  auto& codec = codecs_[text];
  if (!codec) codec = codec::make_codec(text, stream_).value();
  return codec.get();
}

bool DownlinkDecoder::take(const Work& work, std::string_view body) {
  const std::size_t parameter_bytes = parameters_.values().size_bytes();
  if (work.base() == 0) {
    if (body.size() != parameter_bytes + states_.size() * sizeof(float)) return false;
    std::vector<float> parameters(parameters_.values().size());
    MG_CHECK(net::read_floats(body.substr(0, parameter_bytes), parameters).ok());
    MG_CHECK(net::read_floats(body.substr(parameter_bytes), states_).ok());
    parameters_ = codec::DifferenceCopy(parameters);
  } else {
    if (work.base() != copy_) return false;
    codec::Codec* codec = codec_of(work);
    if (codec == nullptr || (!body.empty() && !parameters_.decode(*codec, body).ok())) return false;
  }
  copy_ = work.copy();
  return true;
}

void DownlinkDecoder::read_values(std::span<float> values) const {
  MG_CHECK(values.size() == parameters_.values().size() + states_.size());
  const auto states = std::copy(parameters_.values().begin(), parameters_.values().end(), values.begin());
  std::copy(states_.begin(), states_.end(), states);
}

void DownlinkDecoder::keep_states(std::span<const float> states) {
  MG_CHECK(states.size() == states_.size());
  std::copy(states.begin(), states.end(), states_.begin());
}

}  // namespace mangrove::train

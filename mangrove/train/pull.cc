#include "mangrove/train/pull.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/push.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kModel = 1;  // id of the copy that is the job's model; 0 is none

std::unique_ptr<codec::Codec> codec_of(const TrainJob& job, const Graph& graph) {
  return codec::make_codec(job.codec_pull(), parameter_stream(graph, job.seed())).value();
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

PullSender::PullSender(const TrainJob& job, const Graph& graph)
    : codec_(codec_of(job, graph)),
      model_(std::make_shared<const Copy>(Copy{kModel, -1, codec::DifferenceCopy(learn::flat_parameters(graph))})),
      last_id_(kModel) {}

void PullSender::forget(net::Rank rank) {
  copies_[rank] = nullptr;
}

/// What those who have `base` get to come to this version.
const PullSender::Next& PullSender::next(const Shared& base, std::span<const float> parameters) {
  const auto found = to_version_.find(base->id);
  if (found != to_version_.end()) return found->second;
  Copy copy = *base;
  copy.version = version_;
  Next next;
  if (!std::equal(parameters.begin(), parameters.end(), base->parameters.values().begin())) {
    next.message = copy.parameters.encode(*codec_, parameters);
    copy.id = ++last_id_;
  }
  next.copy = std::make_shared<const Copy>(std::move(copy));
  return to_version_.emplace(base->id, std::move(next)).first->second;
}

/// The same copy as others have, so that one message serves all from now on.
PullSender::Shared PullSender::for_newcomer(std::span<const float> parameters) {
  for (const auto& [rank, copy] : copies_) {
    if (copy == nullptr || !all_finite(parameters)) continue;
    return copy->version == version_ ? copy : next(copy, parameters).copy;
  }
  return std::make_shared<const Copy>(Copy{++last_id_, version_, codec::DifferenceCopy(parameters)});
}

std::string PullSender::body(net::Rank to, Work& work, std::span<const float> values) {
  if (work.version() != std::exchange(version_, work.version())) to_version_.clear();
  const std::span<const float> parameters = values.first(model_->parameters.values().size());
  const bool is_first = copies_.try_emplace(to, nullptr).second;
  Shared& copy = copies_[to];
  if (is_first && std::equal(parameters.begin(), parameters.end(), model_->parameters.values().begin())) copy = model_;
  std::string body;
  if (copy != nullptr && all_finite(parameters)) {  // else training has diverged, and workers are to see it
    work.set_base(copy->id);
    const Next& following = next(copy, parameters);
    body = following.message;
    copy = following.copy;
  } else {
    copy = for_newcomer(parameters);
    net::append_floats(body, copy->parameters.values());
    net::append_floats(body, values.subspan(parameters.size()));
  }
  work.set_copy(copy->id);
  return body;
}

PullReceiver::PullReceiver(const TrainJob& job, const Graph& graph)
    : codec_(codec_of(job, graph)),
      parameters_(learn::flat_parameters(graph)),
      values_(learn::flat_parameters(graph)),
      copy_(kModel) {
  const std::vector<float> states = learn::flat_states(graph);
  values_.insert(values_.end(), states.begin(), states.end());
}

bool PullReceiver::take(const Work& work, std::string_view body) {
  const auto parameters = std::span(values_).first(parameters_.values().size());
  if (work.base() == 0) {
    if (!net::read_floats(body, values_).ok()) return false;
    parameters_ = codec::DifferenceCopy(parameters);
  } else {
    if (work.base() != copy_) return false;
    if (!body.empty() && !parameters_.decode(*codec_, body).ok()) return false;
    std::copy(parameters_.values().begin(), parameters_.values().end(), parameters.begin());
  }
  copy_ = work.copy();
  return true;
}

void PullReceiver::keep_states(std::span<const float> states) {
  const auto own = std::span(values_).subspan(parameters_.values().size());
  MG_CHECK(states.size() == own.size());
  std::copy(states.begin(), states.end(), own.begin());
}

}  // namespace mangrove::train

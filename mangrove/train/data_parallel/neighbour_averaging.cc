#include "mangrove/train/data_parallel/neighbour_averaging.h"

#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/aggregate_key.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {
namespace {

constexpr std::uint32_t kStream = 0;

std::unique_ptr<codec::Codec> codec_of(const TrainJob& job, const Graph& graph) {
  if (is_plain(job.codec())) return nullptr;
  return codec::make_codec(job.codec(), parameter_stream(graph, job.seed())).value();
}

/// Squared, Euclidean.
double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

}  // namespace

NeighbourAveraging::NeighbourAveraging(const TrainJob& job, const Graph& graph, job::RoleContext& context,
                                       std::optional<net::Message>& interruption)
    : context_(context),
      patience_(job.step_timeout_s() / 3),
      parts_(context, kValuesTag, interruption),
      interruption_(interruption),
      parameters_(static_cast<std::size_t>(graph.parameter_elements())),
      codec_(codec_of(job, graph)),
      rule_(rule_of(job)) {}

bool NeighbourAveraging::accepts(const Averaging& averaging) const {
  const auto is_other_worker = [&](net::Rank rank) {
    return rank >= 1 && rank < context_.endpoint.size() && rank != context_.endpoint.rank();
  };
  const auto is_weight = [](float weight) { return weight > 0 && weight < 1; };
  return averaging.ranks_size() == averaging.weights_size() &&
         std::all_of(averaging.ranks().begin(), averaging.ranks().end(), is_other_worker) &&
         std::all_of(averaging.weights().begin(), averaging.weights().end(), is_weight);
}

void NeighbourAveraging::send(net::Rank to, std::span<const float> values) {
  if (codec_ == nullptr) return parts_.send(to, kStream, values);
  send_difference(to, edges_[to], values);
}

/// All values where the neighbour may not have what the difference would be from.
void NeighbourAveraging::send_difference(net::Rank to, Edge& edge, std::span<const float> values) {
  const std::span<const float> parameters = values.first(parameters_);
  Difference difference;
  std::string message;
  if (edge.is_confirmed) {
    difference.set_base(edge.mine.number);
    const double before = distance(parameters, edge.mine.parameters.values());
    message = edge.mine.parameters.encode(*codec_, parameters);
    const double after = distance(parameters, edge.mine.parameters.values());
    edge.carried = before > 0 ? static_cast<float>(std::clamp(1 - after / before, 0.0, 1.0)) : 1.0f;
    net::append_floats(message, values.subspan(parameters_));
  } else {
    edge.mine.parameters = codec::DifferenceCopy(parameters);
    edge.carried = 1;
    net::append_floats(message, values);
  }
  difference.set_copy(++edge.mine.number);
  difference.set_have(edge.theirs.number);
  difference.set_carried(edge.carried);
  edge.is_confirmed = false;  // until its next message
  parts_.send(to, kStream, message, values.size_bytes(), &difference);
}

/// By what own values change for one whole weight of this neighbour. errors: data_loss.
Status NeighbourAveraging::take(net::Rank from, const ChunkChannel::Arrived& part, std::span<const float> own,
                                std::span<float> change) {
  if (codec_ != nullptr) return take_difference(edges_[from], part, own, change);
  MG_RETURN_IF_ERROR(net::read_floats(part.body(), change));
  for (std::size_t i = 0; i < own.size(); ++i) change[i] -= own[i];
  return {};
}

Status NeighbourAveraging::take_difference(Edge& edge, const ChunkChannel::Arrived& part, std::span<const float> own,
                                           std::span<float> change) {
  const Difference& header = part.difference;
  // it was sent before this exchange's message to it came
  edge.is_confirmed = header.have() + 1 == edge.mine.number;
  const std::size_t state_bytes = (own.size() - parameters_) * sizeof(float);
  std::string_view body = part.body();
  if (body.size() < state_bytes) return make_error(Code::data_loss, "it ends before its states");
  const std::string_view states = body.substr(body.size() - state_bytes);
  body.remove_suffix(state_bytes);
  if (header.base() == 0) {
    const std::span<float> parameters = change.first(parameters_);
    MG_RETURN_IF_ERROR(net::read_floats(body, parameters));
    edge.theirs.parameters = codec::DifferenceCopy(parameters);
  } else {
    if (header.base() != edge.theirs.number) return make_error(Code::data_loss, "a difference from what is not here");
    edge.theirs.number = 0;
    MG_RETURN_IF_ERROR(edge.theirs.parameters.decode(*codec_, body));
  }
  edge.theirs.number = header.copy();
  MG_RETURN_IF_ERROR(net::read_floats(states, change.subspan(parameters_)));
  const float step = std::min(edge.carried, std::clamp(header.carried(), 0.0f, 1.0f));  // the same on both sides
  const std::span<const float> theirs = edge.theirs.parameters.values(), mine = edge.mine.parameters.values();
  for (std::size_t i = 0; i < parameters_; ++i) change[i] = step * (theirs[i] - mine[i]);
  for (std::size_t i = parameters_; i < own.size(); ++i) change[i] -= own[i];
  return {};
}

/// Nothing: the neighbour's values have not come.
Result<std::optional<ChunkChannel::Arrived>> NeighbourAveraging::arrived(net::Rank from, Deadline deadline) {
  while (true) {
    if (auto part = parts_.take(from, kStream)) return part;
    MG_TRY(const bool came, parts_.wait({from}, deadline));
    if (!came) return std::optional<ChunkChannel::Arrived>();
  }
}

/// False: the neighbour's values have not come.
Result<bool> NeighbourAveraging::receive(net::Rank from, std::span<const float> own, std::span<float> change,
                                         Deadline deadline) {
  MG_TRY(const auto part, arrived(from, deadline));
  if (!part) return false;
  if (take(from, *part, own, change).ok()) return true;
  parts_.refuse(from, kStream);  // nothing else will come
  return false;
}

/// One average. A worker sends its values to each neighbour (n floats for each), and moves towards theirs:
/// x <- x + sum over neighbours j of w_j (x_j - x). The weights are the same in both directions (Metropolis), so what
/// one end gains the other loses, and the mean over all workers stays as it is; repeated averages bring all of them to
/// that mean, the faster the better connected they are (Lian et al., 2017). No device carries the values of all.
///
/// With a codec, sending coarse values would add an error that never goes away. So both ends of a link keep a copy of
/// what each has told the other, and only the difference to that copy is encoded and added to it, at both ends
/// (CHOCO-SGD, Koloskova et al., 2019). Differences shrink as the copies follow the values, and with them the errors.
/// Workers move by the copies, w_j (copy_j - own copy), which are the same at both ends, so that the mean still stays
/// as it is. The step is shortened to the share of the difference that the coarser of the two messages carried. Where a
/// message may have been lost, all values are sent, which makes a new copy.
Result<bool> NeighbourAveraging::average(const Averaging& averaging, std::span<float> values) {
  const net::RankSet neighbours(averaging.ranks().begin(), averaging.ranks().end());
  parts_.begin(averaging.id(), neighbours);
  for (const net::Rank rank : neighbours) send(rank, values);
  const Deadline deadline = context_.clock.after(patience_);
  if (rule_ != nullptr) return apply_rule(neighbours, values, deadline);
  std::vector<float> mean(values.begin(), values.end()), change(values.size());
  for (std::size_t n = 0; n < neighbours.size(); ++n) {
    const Result<bool> there = receive(neighbours[n], values, change, deadline);
    if (interruption_) return false;
    if (!there.ok() && there.code() == Code::cancelled) return there.error();
    if (!there.ok() || !*there) continue;  // lost or silent: its weight is this worker's
    const float weight = averaging.weights(static_cast<int>(n));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weight * change[i];
  }
  std::copy(mean.begin(), mean.end(), values.begin());
  return true;
}

/// Applies the job's rule to the worker's own values and those of its neighbours. If too few neighbours have answered,
/// or too many of their values are NaN or infinity, the worker keeps its own values.
Result<bool> NeighbourAveraging::apply_rule(const net::RankSet& neighbours, std::span<float> values,
                                            Deadline deadline) {
  std::string own;
  net::append_floats(own, values);
  std::vector<ChunkChannel::Arrived> parts;
  for (const net::Rank rank : neighbours) {
    Result<std::optional<ChunkChannel::Arrived>> part = arrived(rank, deadline);
    if (interruption_) return false;
    if (!part.ok() && part.code() == Code::cancelled) return part.error();
    if (!part.ok() || !*part) continue;  // lost or silent
    if ((*part)->body().size() == own.size())
      parts.push_back(*std::move(*part));
    else
      parts_.refuse(rank, kStream);
  }
  std::vector<std::string_view> all = {own};
  for (const ChunkChannel::Arrived& part : parts) all.push_back(part.body());
  if (const Status combined = combine(all, values); !combined.ok()) {
    MG_CHECK(net::read_floats(own, values).ok());
    log_warn("own values stay as they are", {{"neighbours", parts.size()}, {"reason", combined.error().message}});
  }
  return true;
}

Status NeighbourAveraging::combine(std::span<const std::string_view> all, std::span<float> values) const {
  const std::size_t bytes = parameters_ * sizeof(float);
  Vectors parameters(parameters_), states(values.size() - parameters_);
  for (const std::string_view one : all) {
    parameters.add(one.substr(0, bytes));
    states.add(one.substr(bytes));
  }
  MG_RETURN_IF_ERROR(aggregate(*rule_, parameters, values.first(parameters_)));
  return aggregate_states(states, values.subspan(parameters_));
}

}  // namespace mangrove::train

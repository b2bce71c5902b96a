#include "mangrove/train/compression/server_codecs.h"

#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/codec_choice.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kStatesEvery = 64;  // steps; states only matter for evaluation and for checkpoints

}  // namespace

ServerCodecs::ServerCodecs(const TrainJob& job, const Graph& graph)
    : state_bytes_(learn::flat_states(graph).size() * sizeof(float)),
      is_auto_(is_auto(job) && strategy_of(job).has_server) {
  if (!strategy_of(job).has_server) return;  // of other strategies the workers encode for each other
  if (is_encoded(job)) uplink_.emplace(job, graph);
  if (!is_plain(job.downlink_codec()) || is_auto(job)) downlink_.emplace(job, graph);
}

/// Workers that get the states with all values go on from these; others from their own, which need not come each time.
/// The last ones of an epoch are evaluated.
bool ServerCodecs::asks_for_states(const Work& work) const {
  const bool is_last = work.next_samples().empty() || work.next_epoch() != work.epoch();
  return work.base() == 0 || is_last || work.version() % kStatesEvery == 0;
}

std::string ServerCodecs::body(net::Rank to, Work& work, std::span<const float> values) {
  std::string body;
  if (downlink_) {
    body = downlink_->body(to, work, values);
  } else {
    body.reserve(values.size_bytes());
    net::append_floats(body, values);
  }
  work.set_states(uplink_ && asks_for_states(work));
  return body;
}

Result<std::string> ServerCodecs::update(net::Rank from, const Answer& answer, bool has_states, std::string_view body) {
  const std::size_t tail = has_states ? state_bytes_ : 0;
  if (body.size() < tail) return make_error(Code::data_loss, "it ends before its states");
  MG_TRY(std::string update, uplink_->decode(from, answer, body.substr(0, body.size() - tail)));
  if (is_auto_) downlink_->use(from, answer.codec());
  update += body.substr(body.size() - tail);
  return update;
}

void ServerCodecs::forget(net::Rank rank) {
  if (downlink_) downlink_->forget(rank);
}

}  // namespace mangrove::train

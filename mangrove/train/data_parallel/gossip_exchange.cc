#include "mangrove/train/data_parallel/gossip_exchange.h"

#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

GossipExchange::GossipExchange(Trainee& trainee, const Graph& graph)
    : trainee_(trainee),
      local_(trainee.recipe().optimizer, trainee.job(), trainee.context(), trainee.interruption()),
      averager_(trainee.job(), graph, trainee.context(), trainee.interruption()) {}

bool GossipExchange::accept(const Work& work, std::string_view body) {
  if (!work.has_averaging() || !averager_.accepts(work.averaging()) || !local_.accepts(work)) return false;
  return body.empty() ? has_values_ : body.size() == trainee_.pool().flat().size_bytes();
}

Status GossipExchange::train(const Work& work, std::string_view body) {
  ReplicaPool& pool = trainee_.pool();
  if (!body.empty()) {
    MG_CHECK(net::read_floats(body, pool.flat()).ok());
    local_.set_values(pool.flat());
  }
  StepTimer& timer = trainee_.timer();
  timer.enter(StepTimer::Phase::compute);
  MG_TRY(const std::optional<learn::BatchStats> stats, local_.run(work, pool, timer));
  if (!stats) return {};
  has_values_ = true;
  timer.enter(StepTimer::Phase::wire);
  std::vector<float> values(local_.values().begin(), local_.values().end());
  MG_TRY(const bool averaged, averager_.average(work.averaging(), values));
  if (!averaged) return {};
  local_.set_values(values);
  Answer answer = answer_with(*stats);
  put_transfer_stats(averager_.transfer_stats(), answer);
  trainee_.answer(std::move(answer), work.round(), {});
  timer.end_step();
  return {};
}

std::span<const float> GossipExchange::own_values() const {
  return has_values_ ? local_.values() : std::span<const float>();
}

}  // namespace mangrove::train

#include "mangrove/train/data_parallel/aggregate_key.h"

#include "mangrove/codec/codec.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

Error refuse(const TrainJob& job, const std::string& why) {
  return make_error(Code::invalid_argument, "aggregate: '" + job.aggregate() + "' " + why);
}

/// Refuses codecs that leave elements out: these are zero in most of the vectors, so that a rule would take zero for
/// what most workers say.
Status check_codec(const TrainJob& job) {
  if (is_plain(job.codec())) return {};
  if (strategy_of(job).averages_with_neighbours)
    return refuse(job, "compares the values of neighbours, of which codec '" + job.codec() +
                           "' sends differences only; use codec none");
  if (is_auto(job))
    return refuse(job,
                  "compares updates element by element, and codec 'auto' may send a few elements only; use "
                  "fp16, bf16, int8 or none");
  MG_TRY(const codec::CodecRow* row, codec::find_codec(job.codec()).context("codec"));
  if (row->is_contraction && !row->is_sparse && !row->has_momentum) return {};
  return refuse(job, "compares updates element by element, for which codec '" + std::string(row->name) +
                         "' is too coarse; use fp16, bf16, int8 or none");
}

}  // namespace

Status check_aggregate(const TrainJob& job) {
  MG_TRY(const std::unique_ptr<Aggregation> rule, make_aggregation(job.aggregate()).context("aggregate"));
  if (rule == nullptr) return {};
  const Strategy& strategy = strategy_of(job);
  if (!strategy.collects_vectors) {
    return refuse(job, "compares the updates of workers, but with strategy '" + job.strategy() +
                           "' nobody sees them one by one; use one of " + strategies_with(&Strategy::collects_vectors));
  }
  using Kind = Consistency::Kind;
  MG_TRY(const Consistency consistency, parse_consistency(job.consistency()));
  if (strategy.has_server && (consistency.kind == Kind::async || consistency.kind == Kind::stale)) {
    return refuse(job, "compares the updates of workers, but with consistency '" + job.consistency() +
                           "' each is made alone; use sync or k_of_n(K)");
  }
  return check_codec(job);
}

std::unique_ptr<Aggregation> rule_of(const TrainJob& job) {
  return make_aggregation(job.aggregate()).value();
}

Status check_enough_vectors(const TrainJob& job, const Aggregation& rule, std::size_t vectors,
                            const std::string& where) {
  if (vectors >= rule.least()) return {};
  return refuse(job, "needs the updates of " + std::to_string(rule.least()) + " workers at once, but " + where);
}

}  // namespace mangrove::train

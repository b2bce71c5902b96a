#pragma once

#include <map>
#include <string>

#include "mangrove/train/compression/range_codecs.h"
#include "mangrove/train/data_parallel/worker_roster.h"

namespace mangrove::train {

/// The leader's side of an all_reduce with a codec: puts the sums together again that its workers have finished.
/// threads: one at a time.
class ReducedShards {
 public:
  ReducedShards(const TrainJob& job, const Graph& graph);

  /// The same bits as every worker has, as flat bytes: the parameters' sums, then the states'. Never trusts the
  /// answers. errors: data_loss: a share that cannot be decoded (names its rank), or that is missing, or there twice.
  Result<std::string> put_together(const std::map<net::Rank, WorkerRoster::Answered>& answers);
  /// Whether the codec is: see ReducedRange.
  bool is_linear() const { return is_linear_; }
  /// Of the last error; 0: who it is cannot be told.
  net::Rank culprit() const { return culprit_; }

 private:
  Status read(const WorkerRoster::Answered& answered, std::string& states);

  RangeCodecs codecs_;
  const bool is_linear_;
  std::vector<float> sums_;
  net::Rank culprit_ = 0;
  std::map<std::size_t, std::size_t> covered_;  // elements from this one on
  const std::size_t state_bytes_;
};

}  // namespace mangrove::train

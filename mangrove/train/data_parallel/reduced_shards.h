#pragma once

#include <map>
#include <string>

#include "mangrove/train/compression/range_codecs.h"
#include "mangrove/train/data_parallel/worker_roster.h"

namespace mangrove::train {

/// The leader's side of an all_reduce with a codec: it puts together the sums that its workers have finished.
/// threads: one at a time.
class ReducedShards {
 public:
  ReducedShards(const TrainJob& job, const Graph& graph);

  /// The sums with the same bits as on every worker, as flat bytes: those of the parameters, then those of the states.
  /// Never trusts the answers. errors: data_loss (a share that cannot be decoded, which names its rank; a share that is
  /// missing or there twice).
  Result<std::string> put_together(const std::map<net::Rank, WorkerRoster::Answered>& answers);
  /// Whether the codec is linear: see ReducedRange.
  bool is_linear() const { return is_linear_; }
  /// The rank that caused the last error; 0: not known.
  net::Rank culprit() const { return culprit_; }

 private:
  Status read(const WorkerRoster::Answered& answered, std::string& states);

  RangeCodecs codecs_;
  const bool is_linear_;
  std::vector<float> sums_;
  net::Rank culprit_ = 0;
  std::map<std::size_t, std::size_t> covered_;  // first element of a share -> its elements
  const std::size_t state_bytes_;
};

}  // namespace mangrove::train

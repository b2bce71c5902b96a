#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/reduced_shards.h"

namespace mangrove::train {

/// Rank 0 of all_reduce (see run_all_reduce). A strategy whose workers sum their gradients in another way, too, derives
/// from it. threads: one at a time.
class AllReduceLeader : public Leader {
 public:
  AllReduceLeader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                  std::unique_ptr<GlobalModel> model);

 protected:
  using Answers = std::map<net::Rank, WorkerRoster::Answered>;

  /// The workers of the step.
  const net::RankSet& group() const { return group_; }
  /// A step begins. The derived class adds to the work of each worker what it has to know. Returns whether every worker
  /// must get the state, even those that have the last sums.
  virtual bool prepare_works(std::map<net::Rank, Work>& works);
  /// What the worker group()[index] needs for this and later steps, as an encoded checkpoint. Valid until the next
  /// step.
  virtual std::string_view state_for(std::size_t index);
  /// The floats of the sums that the worker group()[index] answers with.
  virtual std::size_t share_of(std::size_t index);
  /// Puts the sums together, as flat bytes: see GlobalModel::Part. answers: of all workers of the step. errors:
  /// data_loss (they are not what workers have that follow the same plan).
  virtual Result<std::string> put_together(const Answers& answers);

 private:
  Status advance() override;
  std::int64_t samples_per_step(std::size_t workers) const override {
    return static_cast<std::int64_t>(workers * batch());
  }
  void begin_step();
  Status collect_answers();
  bool is_whole();
  void leave_step();
  void unblock(net::Rank rank);
  Status finish_step();

  net::RankSet group_;
  Answers answers_;                      // of the step
  std::optional<ReducedShards> shares_;  // where the job has a codec
  std::string state_;                    // for those who need it in this step
  std::uint64_t reduction_ = 0;          // its id
  Update update_;                        // the last one
  std::set<net::Rank> up_to_date_;       // took part in it
};

}  // namespace mangrove::train

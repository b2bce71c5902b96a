#include "mangrove/train/data_parallel/all_reduce_leader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mangrove/base/log.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"

namespace mangrove::train {

AllReduceLeader::AllReduceLeader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                                 std::unique_ptr<GlobalModel> model)
    : Leader(job, context, recipe, std::move(model)) {
  if (!is_plain(job.codec())) shares_.emplace(job, global_model().graph());
}

/// A step: everyone's gradients are summed, and then everyone makes the update; or nobody.
Status AllReduceLeader::advance() {
  while (workers().ready().empty()) MG_RETURN_IF_ERROR(next_answer());
  begin_step();
  MG_RETURN_IF_ERROR(collect_answers());
  if (answers_.size() == group_.size()) return finish_step();
  leave_step();
  return {};
}

void AllReduceLeader::begin_step() {
  std::map<net::Rank, Work> works = assign(workers().ready(), batch());
  Reduction reduction;
  reduction.set_id(++reduction_);
  std::int64_t samples = 0;
  group_.clear();
  for (const auto& [rank, work] : works) {
    group_.push_back(rank);
    reduction.add_ranks(rank);
    samples += work.samples_size();
  }
  reduction.set_samples(samples);
  answers_.clear();
  state_.clear();
  const bool begins_anew = prepare_works(works);
  if (begins_anew) up_to_date_.clear();  // even if this step fails, nobody has what was there before
  for (std::size_t i = 0; i < group_.size(); ++i) {
    Work& work = works.at(group_[i]);
    *work.mutable_reduction() = reduction;
    *work.mutable_update() = update_;
    work.set_state(begins_anew || !up_to_date_.contains(group_[i]));
    const std::string_view state = work.state() ? state_for(i) : std::string_view();
    workers().give(group_[i], std::move(work), state, share_of(i), shares_.has_value());
  }
}

/// What linear codecs keep from update to update must be the same on all ranks.
bool AllReduceLeader::prepare_works(std::map<net::Rank, Work>&) {
  const auto is_up_to_date = [&](net::Rank rank) { return up_to_date_.contains(rank); };
  return shares_ && shares_->is_linear() && !std::ranges::all_of(group_, is_up_to_date);
}

std::string_view AllReduceLeader::state_for(std::size_t) {
  if (state_.empty()) {
    learn::Checkpoint checkpoint;
    global_model().save(checkpoint);
    state_ = learn::encode_checkpoint(checkpoint);
  }
  return state_;
}

std::size_t AllReduceLeader::share_of(std::size_t index) {
  return part_of(global_model().values().size(), index, group_.size()).count;
}

/// Waits until all have the sum, or it is clear that they will not get it.
Status AllReduceLeader::collect_answers() {
  while (answers_.size() < group_.size() && is_whole()) {
    if (const auto rank = workers().stuck_on()) {
      unblock(*rank);
      return {};
    }
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (answered) answers_.emplace(answered->rank, std::move(*answered));
  }
  return {};
}

/// Nobody was dropped.
bool AllReduceLeader::is_whole() {
  return std::all_of(group_.begin(), group_.end(), [&](net::Rank rank) { return work().holds(rank); });
}

void AllReduceLeader::unblock(net::Rank rank) {
  workers().came_to_a_stand(rank,
                            make_error(Code::unavailable, "the other workers wait for its part of the sums in vain"));
}

void AllReduceLeader::leave_step() {
  for (auto rank = group_.rbegin(); rank != group_.rend(); ++rank) {  // in reverse: the samples are in order again
    if (!work().holds(*rank)) continue;
    workers().recall(*rank);
    work().give_back(*rank);
  }
}

Result<std::string> AllReduceLeader::put_together(const Answers& answers) {
  if (shares_) return shares_->put_together(answers);
  std::string sums;
  for (const auto& [rank, answered] : answers) sums += answered.body();  // they follow each other as the ranks do
  return sums;
}

Status AllReduceLeader::finish_step() {
  const Result<std::string> sums = put_together(answers_);
  if (!sums.ok()) {
    log_warn("the sums cannot be put together", {{"reduction", reduction_}, {"reason", sums.error().message}});
    unblock(shares_ && shares_->culprit() > 0 ? shares_->culprit() : group_.front());
    leave_step();
    return {};
  }
  std::vector<WorkerRoster::Answered> answers;
  std::int64_t samples = 0;
  for (auto& [rank, answered] : answers_) {
    samples += answered.answer.count();
    answers.push_back(std::move(answered));
  }
  const GlobalModel::Part part{*sums, shares_ ? 1 : samples};  // of a codec they are means already
  MG_RETURN_IF_ERROR(apply(answers, std::span(&part, 1), 1));
  update_.set_reduction(reduction_);
  update_.set_step(step());
  update_.set_learning_rate(last_rate());
  update_.set_samples(samples);
  up_to_date_ = {group_.begin(), group_.end()};
  workers().came_to_an_end();
  return {};
}

}  // namespace mangrove::train

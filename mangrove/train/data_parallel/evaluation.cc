#include "mangrove/train/data_parallel/evaluation.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "mangrove/train/data_parallel/sample_ledger.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kBatches = 4;  // given to a worker at once; more hides more latency and balances worse

class EvaluationRun {
 public:
  EvaluationRun(job::RoleContext& context, WorkerRoster& workers, Reports& reports, const EvaluationTask& task,
                std::span<const float> values)
      : context_(context),
        workers_(workers),
        reports_(reports),
        task_(task),
        values_(values),
        evaluation_{.confusion = learn::ConfusionMatrix(task.classes)},
        start_(context.clock.now()),
        throttle_(start_) {
    std::vector<std::uint32_t> order(static_cast<std::size_t>(task.samples));
    std::iota(order.begin(), order.end(), 0u);
    work_ = SampleLedger(order);
  }

  Result<Evaluation> run() {
    while (!work_.done()) {
      if (context_.stop.stop_requested()) return make_error(Code::cancelled, "stopped during evaluation");
      give();
      MG_TRY(const WorkerRoster::News news, workers_.next());
      if (const auto* dropped = std::get_if<WorkerRoster::Dropped>(&news)) {
        up_to_date_.erase(dropped->rank);
        reports_.work_reassigned(dropped->rank, dropped->reason, work_.give_back(dropped->rank), task_.version);
      }
      if (const auto* answered = std::get_if<WorkerRoster::Answered>(&news)) count(*answered);
    }
    for (const auto& [first, loss] : losses_) evaluation_.loss += loss / static_cast<double>(task_.samples);
    return std::move(evaluation_);
  }

 private:
  void give() {
    const net::RankSet ranks = workers_.ready();
    for (const net::Rank rank : ranks) {
      const std::size_t share = (work_.pending_count() + ranks.size() - 1) / ranks.size();
      // Whole batches, so that their composition, and with it the loss, does not depend on who was when ready.
      const auto batch = static_cast<std::size_t>(task_.batch);
      const std::size_t batches = std::min((share + batch - 1) / batch, kBatches);
      const auto parts = work_.assign({{rank, batches * batch}});
      if (parts.empty()) return;
      const SampleLedger::Samples& samples = parts.begin()->second;
      Work work;
      work.set_kind(Work::EVALUATE);
      work.set_version(task_.version);
      work.set_validation(task_.validation);
      work.set_batch(task_.batch);
      given_[rank] = samples;
      work.mutable_samples()->Add(samples.begin(), samples.end());
      const bool knows = !up_to_date_.insert(rank).second;
      workers_.give(rank, std::move(work), knows ? std::span<const float>() : values_);
    }
  }

  void count(const WorkerRoster::Answered& answered) {
    work_.finish(answered.rank);
    // not all in a row, where some are those of a worker that was lost
    const SampleLedger::Samples& samples = given_.at(answered.rank);
    std::size_t first = 0;
    for (const double loss : answered.answer.losses()) {
      losses_[samples[first]] = loss;
      first += static_cast<std::size_t>(task_.batch);
    }
    for (int i = 0; i < answered.answer.truths_size(); ++i) {
      evaluation_.confusion.add(answered.answer.truths(i), answered.answer.predictions(i));
    }
    const auto& early = answered.answer.early_correct();
    evaluation_.early_correct.resize(
        std::max(evaluation_.early_correct.size(), static_cast<std::size_t>(early.size())));
    for (int i = 0; i < early.size(); ++i) evaluation_.early_correct[static_cast<std::size_t>(i)] += early[i];
    const Instant now = context_.clock.now();
    if (!throttle_.passes(now, work_.done())) return;
    const std::int64_t done = evaluation_.confusion.total();
    reports_.progress(task_.validation ? "validate" : "test", done, task_.samples,
                      now > start_ ? static_cast<double>(done) / (now - start_) : 0);
  }

  job::RoleContext& context_;
  WorkerRoster& workers_;
  Reports& reports_;
  const EvaluationTask task_;
  const std::span<const float> values_;
  Evaluation evaluation_;
  std::map<std::uint32_t, double> losses_;            // of the batches that are done, by their first sample
  std::map<net::Rank, SampleLedger::Samples> given_;  // to each rank last
  SampleLedger work_;
  std::set<net::Rank> up_to_date_;  // were sent the values
  const Instant start_;
  job::Throttle throttle_;
};

}  // namespace

std::vector<double> accuracy_at_exits(const Evaluation& evaluation) {
  std::vector<double> accuracy;
  for (const std::int64_t correct : evaluation.early_correct)
    accuracy.push_back(static_cast<double>(correct) /
                       static_cast<double>(std::max<std::int64_t>(1, evaluation.confusion.total())));
  if (!accuracy.empty()) accuracy.push_back(evaluation.confusion.accuracy());
  return accuracy;
}

Result<Evaluation> evaluate_on_workers(job::RoleContext& context, WorkerRoster& workers, Reports& reports,
                                       const EvaluationTask& task, std::span<const float> values) {
  return EvaluationRun(context, workers, reports, task, values).run();
}

}  // namespace mangrove::train

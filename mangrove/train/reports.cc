#include "mangrove/train/reports.h"

#include <algorithm>
#include <utility>

#include "mangrove/job/json.h"

namespace mangrove::train {
namespace {

std::vector<std::vector<std::int64_t>> rows(const learn::ConfusionMatrix& confusion) {
  std::vector<std::vector<std::int64_t>> table(static_cast<std::size_t>(confusion.classes()));
  for (std::int32_t truth = 0; truth < confusion.classes(); ++truth)
    for (std::int32_t prediction = 0; prediction < confusion.classes(); ++prediction)
      table[static_cast<std::size_t>(truth)].push_back(confusion.count(truth, prediction));
  return table;
}

/// counts[i]: how often i was seen.
std::vector<std::int64_t> counts(const std::map<std::int64_t, std::int64_t>& seen) {
  std::vector<std::int64_t> list;
  for (const auto& [value, times] : seen) {
    while (std::ssize(list) < value) list.push_back(0);
    list.push_back(times);
  }
  return list;
}

}  // namespace

std::string json_list(const std::vector<std::string>& names) {
  return dump(job::Json(names));
}

void Reports::epoch(const Epoch& e, std::string best_model) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, e.train.count));
  EpochReport report;
  report.epoch = e.epoch;
  report.loss = e.train.loss / count;
  report.accuracy = static_cast<double>(e.train.correct) / count;
  report.learning_rate = e.learning_rate;
  report.train_seconds = e.train_seconds;
  report.epsilon = e.epsilon;
  if (!e.train.early_correct.empty()) {
    std::vector<double>& exits = report.exit_accuracy.emplace();
    for (const std::int64_t correct : e.train.early_correct) exits.push_back(static_cast<double>(correct) / count);
    exits.push_back(*report.accuracy);
  }
  if (e.validation.there_is) {
    report.validation_loss = e.validation.loss;
    report.validation_accuracy = e.validation.accuracy;
    if (!e.validation.exit_accuracy.empty()) report.validation_exit_accuracy = e.validation.exit_accuracy;
    report.best_epoch = e.validation.best.epoch;
    report.best_accuracy = e.validation.best.accuracy;
  }
  send(ReportKind::epoch, report, std::move(best_model));
}

void Reports::checkpoint(std::int64_t epoch, std::int64_t step, std::string file) {
  send(ReportKind::checkpoint, CheckpointReport{epoch, step}, std::move(file));
}

void Reports::work_reassigned(net::Rank rank, const std::string& reason, std::size_t samples, std::int64_t step) {
  event(WorkReassigned{node(rank), reason, samples, step});
}

void Reports::memory_plan(net::Rank rank, const MemoryPlan& plan) {
  const MemoryPlanned planned{.node = node(rank),
                              .micro_batch = plan.micro_batch(),
                              .micro_batches = plan.micro_batches(),
                              .recomputed_share = plan.recomputed_share(),
                              .predicted_peak = plan.predicted_peak(),
                              .unlimited = plan.unlimited()};
  const auto [known, is_new] = plans_.try_emplace(rank, planned);
  if (is_new || std::exchange(known->second, planned) != planned) event(planned);
}

void Reports::stage_moved(std::size_t stage, net::Rank from, net::Rank to) {
  event(job::StageMoved{static_cast<std::int64_t>(stage), node(from), node(to)});
}

void Reports::result(TrainResult r, const learn::ConfusionMatrix& confusion, std::string model) {
  r.accuracy = confusion.accuracy();
  r.macro_f1 = confusion.macro_f1();
  r.confusion = rows(confusion);
  r.images_per_s = r.train_seconds > 0 ? static_cast<double>(r.samples) / r.train_seconds : 0;
  if (!staleness_.empty()) r.staleness = counts(staleness_);
  if (!stages_.empty()) r.stages = stages_;
  r.memory.emplace();
  for (const auto& [rank, plan] : plans_) {
    TrainResult::Memory& of_worker = r.memory->emplace_back(TrainResult::Memory{plan, {}});
    if (const auto peak = peaks_.find(rank); peak != peaks_.end()) of_worker.measured_peak = peak->second;
  }
  send(ReportKind::result, r, std::move(model));
}

}  // namespace mangrove::train

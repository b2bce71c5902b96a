#include "mangrove/train/reports.h"

#include <algorithm>
#include <utility>

#include "mangrove/job/json.h"

namespace mangrove::train {
namespace {

using job::Json;

Json rows(const learn::ConfusionMatrix& confusion) {
  Json table = Json::array();
  for (std::int32_t truth = 0; truth < confusion.classes(); ++truth) {
    Json row = Json::array();
    for (std::int32_t prediction = 0; prediction < confusion.classes(); ++prediction) {
      row.push_back(confusion.count(truth, prediction));
    }
    table.push_back(std::move(row));
  }
  return table;
}

/// counts[i]: how often i was seen.
Json counts(const std::map<std::int64_t, std::int64_t>& seen) {
  Json list = Json::array();
  for (const auto& [value, times] : seen) {
    while (static_cast<std::int64_t>(list.size()) < value) list.push_back(0);
    list.push_back(times);
  }
  return list;
}

Json to_json(const Advice& advice) {
  Json json = {{"boards", advice.boards},
               {"predicted_speedup", advice.speedup},
               {"compute_s", advice.compute},
               {"exchange_s", advice.exchange}};
  if (advice.local_steps) json["local_steps"] = *advice.local_steps;
  json["why"] = advice.why;
  return json;
}

Json to_json(const TransferStats& exchanged) {
  const auto bytes = static_cast<double>(std::max<std::int64_t>(1, exchanged.bytes));
  return {{"messages", exchanged.messages},
          {"bytes", exchanged.bytes},
          {"float_bytes", exchanged.float_bytes},
          {"compression", static_cast<double>(exchanged.float_bytes) / bytes}};
}

Json to_json(const std::vector<Reports::Stage>& stages) {
  Json list = Json::array();
  for (const Reports::Stage& stage : stages)
    list.push_back({{"stage", stage.stage},
                    {"node", stage.node},
                    {"operators", stage.operators},
                    {"parameters", stage.parameters},
                    {"forward_s", stage.forward},
                    {"backward_s", stage.backward},
                    {"busy_s", stage.busy},
                    {"predicted_busy_s", stage.predicted_busy ? Json(*stage.predicted_busy) : Json()},
                    {"idle", stage.idle},
                    {"predicted_idle", stage.predicted_idle},
                    {"in_flight", stage.in_flight},
                    {"staleness", stage.staleness}});
  return list;
}

}  // namespace

std::string json_list(const std::vector<std::string>& names) {
  return dump(Json(names));
}

void Reports::train_progress(const Progress& p) {
  progress("train", p.done, p.total, p.images_per_s,
           {{"epoch", p.epoch},
            {"epochs", p.epochs},
            {"step", p.step},
            {"steps", p.steps},
            {"loss", p.loss},
            {"accuracy", p.accuracy},
            {"learning_rate", p.learning_rate}});
}

void Reports::evaluate_progress(bool validation, std::int64_t done, std::int64_t total, double images_per_s) {
  progress(validation ? "validate" : "test", done, total, images_per_s);
}

void Reports::epoch(const Epoch& e, std::string best_model) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, e.train.count));
  Json json = {{"epoch", e.epoch},
               {"loss", e.train.loss / count},
               {"accuracy", static_cast<double>(e.train.correct) / count},
               {"learning_rate", e.learning_rate},
               {"train_seconds", e.train_seconds}};
  if (!e.train.early_correct.empty()) {
    json["exit_accuracy"] = Json::array();
    for (const std::int64_t correct : e.train.early_correct)
      json["exit_accuracy"].push_back(static_cast<double>(correct) / count);
    json["exit_accuracy"].push_back(json["accuracy"]);
  }
  if (e.validation.there_is) {
    json["validation_loss"] = e.validation.loss;
    json["validation_accuracy"] = e.validation.accuracy;
    if (!e.validation.exit_accuracy.empty()) json["validation_exit_accuracy"] = e.validation.exit_accuracy;
    json["best_epoch"] = e.validation.best.epoch;
    json["best_accuracy"] = e.validation.best.accuracy;
  }
  send("epoch", json, std::move(best_model));
}

void Reports::stopped_early(std::int64_t epoch, const learn::BestModel& best) {
  event("stopped_early", {{"epoch", epoch}, {"best_epoch", best.epoch}, {"best_accuracy", best.accuracy}});
}

void Reports::work_reassigned(net::Rank rank, const std::string& reason, std::size_t samples, std::int64_t step) {
  event("work_reassigned", {{"node", node(rank)}, {"reason", reason}, {"samples", samples}, {"step", step}});
}

void Reports::stage_moved(std::size_t stage, net::Rank from, net::Rank to) {
  event("stage_moved", {{"stage", stage}, {"from", node(from)}, {"to", node(to)}});
}

void Reports::recut(std::size_t stages, std::int64_t step, std::optional<double> expected_speedup) {
  Json json = {{"stages", stages}, {"step", step}};
  if (expected_speedup) json["expected_speedup"] = *expected_speedup;
  event("recut", json);
}

void Reports::worker_left_out(const std::string& names, const std::string& reason) {
  event("worker_left_out", {{"node", names}, {"reason", reason}});
}

void Reports::worker_back(net::Rank rank) {
  event("worker_back", {{"node", node(rank)}});
}

void Reports::memory_plan(net::Rank rank, const MemoryPlan& plan) {
  const Json json = {{"node", node(rank)},
                     {"micro_batch", plan.micro_batch()},
                     {"micro_batches", plan.micro_batches()},
                     {"recomputed_share", plan.recomputed_share()},
                     {"predicted_peak", plan.predicted_peak()},
                     {"unlimited", plan.unlimited()}};
  std::string text = dump(json);
  if (std::exchange(plans_[rank], text) != text) event("memory_plan", json);
}

void Reports::balanced(const std::map<net::Rank, std::size_t>& shares, std::int64_t step) {
  Json list = Json::array();
  for (const auto& [rank, samples] : shares) list.push_back({{"node", node(rank)}, {"samples", samples}});
  event("balanced", {{"step", step}, {"shares", std::move(list)}});
}

void Reports::codec_chosen(net::Rank rank, const ChosenCodec& chosen) {
  event("codec_chosen", {{"node", node(rank)},
                         {"codec", chosen.codec()},
                         {"exchange_s", chosen.exchange_s()},
                         {"plain_s", chosen.plain_s()},
                         {"bytes_per_s", chosen.bytes_per_s()},
                         {"why", chosen.why()}});
}

void Reports::shard_refused(net::Rank by, net::Rank source, const std::string& shard, const std::string& reason) {
  event("shard_refused", {{"node", node(source)}, {"by", node(by)}, {"shard", shard}, {"reason", reason}});
}

void Reports::data_is_there(net::Rank rank, std::int64_t from_leader, std::int64_t from_others) {
  event("data_is_there",
        {{"node", node(rank)}, {"shards_from_coordinator", from_leader}, {"shards_from_nodes", from_others}});
}

void Reports::advice(const Advice& advice) {
  event("advice", to_json(advice));
}

void Reports::resumed_with_other_workers(std::int64_t samples_per_step_before, std::int64_t samples_per_step) {
  event("resumed_with_other_workers",
        {{"samples_per_step_before", samples_per_step_before}, {"samples_per_step", samples_per_step}});
}

void Reports::checkpoint(std::int64_t epoch, std::int64_t step, std::string file) {
  send("checkpoint", {{"epoch", epoch}, {"step", step}}, std::move(file));
}

void Reports::result(const Result& r, const learn::ConfusionMatrix& confusion, std::string model) {
  Json json = {{"accuracy", confusion.accuracy()},
               {"macro_f1", confusion.macro_f1()},
               {"confusion", rows(confusion)},
               {"classes", r.class_names},
               {"epochs", r.epochs},
               {"steps", r.steps},
               {"samples", r.samples},
               {"train_seconds", r.train_seconds},
               {"eval_seconds", r.eval_seconds},
               {"images_per_s", r.train_seconds > 0 ? static_cast<double>(r.samples) / r.train_seconds : 0},
               {"loss", r.loss},
               {"train_accuracy", r.train_accuracy},
               {"workers", r.workers},
               {"batch", r.batch},
               {"test_loss", r.test_loss}};
  if (!r.exit_accuracy.empty()) json["exit_accuracy"] = r.exit_accuracy;
  if (r.best.epoch > 0) {
    json["best_epoch"] = r.best.epoch;
    json["best_validation_accuracy"] = r.best.accuracy;
    json["best_validation_loss"] = r.best.loss;
  }
  if (!staleness_.empty()) json["staleness"] = counts(staleness_);
  if (r.advice) json["advice"] = to_json(*r.advice);
  if (!stages_.empty()) json["stages"] = to_json(stages_);
  json["exchange"] = {{"push", to_json(r.uplink)}, {"pull", to_json(r.downlink)}, {"peers", to_json(r.among_peers)}};
  json["memory"] = Json::array();
  for (const auto& [rank, text] : plans_) {
    Json of_worker = Json::parse(text);
    if (const auto peak = peaks_.find(rank); peak != peaks_.end()) of_worker["measured_peak"] = peak->second;
    json["memory"].push_back(std::move(of_worker));
  }
  send("result", json, std::move(model));
}

}  // namespace mangrove::train

#include "mangrove/train/job_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "mangrove/base/call_syntax.h"
#include "mangrove/data/sha256.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/data_parallel/neighbours.h"
#include "mangrove/train/data_parallel/shared_samples.h"
#include "mangrove/train/frozen.h"
#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMostLocalSteps = 1'000'000;
constexpr std::int64_t kMany = 1'000'000'000;                 // epochs; times samples they stay far below 2^63
constexpr std::int64_t kMostPerStep = std::int64_t{1} << 50;  // samples, of all workers together
constexpr double kLongest = 1e9;                              // seconds
constexpr Bytes kMostMemory = Bytes{1} << 50;
constexpr std::int64_t kMostInWindow = 1'000'000'000;

// of a StepBasis
const std::string kSamplesPerStep = "pace.samples_per_step";
const std::string kBaseRate = "pace.base_learning_rate";

/// The whole text as a number. errors: data_loss.
template <class Number>
Result<Number> number_of(const std::map<std::string, std::string>& settings, const std::string& key) {
  const auto found = settings.find(key);
  Number number{};
  if (found != settings.end()) {
    const char* end = found->second.data() + found->second.size();
    const auto [stop, code] = std::from_chars(found->second.data(), end, number);
    if (code == std::errc() && stop == end && number > 0) return number;
  }
  return make_error(Code::data_loss, "resume: the checkpoint has no valid '" + key + "'");
}

/// The shortest text that gives the same float back.
std::string exact(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

template <class T>
Status check(const char* key, T value, bool allowed, const char* expected) {
  if (allowed) return {};
  return make_error(Code::invalid_argument,
                    std::string(key) + ": must be " + expected + ", got " + std::to_string(value));
}

std::map<std::string, std::string> parse_settings(const std::string& text) {
  std::map<std::string, std::string> settings;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) settings[line.substr(0, equals)] = line.substr(equals + 1);
    begin = end + 1;
  }
  return settings;
}

std::string value_of(const std::map<std::string, std::string>& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? "not there" : "'" + found->second + "'";
}

std::string fingerprint(const std::string& bytes) {
  return data::sha256({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

Status check_local_training(const TrainJob& job) {
  MG_RETURN_IF_ERROR(check("local_steps", job.local_steps(),
                           job.local_steps() >= 0 && job.local_steps() <= kMostLocalSteps, "from 0 to 1000000"));
  MG_RETURN_IF_ERROR(check("local_epochs", job.local_epochs(), job.local_epochs() >= 0 && job.local_epochs() <= kMany,
                           "from 0 to 1000000000"));
  const float fraction = job.client_fraction(), rate = job.outer_learning_rate(), momentum = job.outer_momentum();
  MG_RETURN_IF_ERROR(check("client_fraction", fraction, fraction >= 0 && fraction <= 1, "from 0 to 1"));
  MG_RETURN_IF_ERROR(check("outer_learning_rate", rate, std::isfinite(rate) && rate >= 0, "0 or more"));
  return check("outer_momentum", momentum, momentum >= 0 && momentum < 1, "from 0 to below 1");
}

}  // namespace

Status check_job(const TrainJob& job) {
  MG_RETURN_IF_ERROR(find_strategy(job.strategy()));
  MG_RETURN_IF_ERROR(check("epochs", job.epochs(), job.epochs() >= 1 && job.epochs() <= kMany, "from 1 to 1000000000"));
  MG_RETURN_IF_ERROR(check("batch", job.batch(), job.batch() >= 1 && job.batch() <= 1 << 20, "from 1 to 1048576"));
  const float rate = job.learning_rate();
  MG_RETURN_IF_ERROR(check("learning_rate", rate, std::isfinite(rate) && rate >= 0, "0 or more"));
  MG_RETURN_IF_ERROR(check("micro_batch", job.micro_batch(), job.micro_batch() >= 0 && job.micro_batch() <= job.batch(),
                           "from 0 to the batch"));
  MG_RETURN_IF_ERROR(check("memory", job.memory(), job.memory() >= 0 && job.memory() <= kMostMemory, "from 0 to 2^50"));
  const auto check_seconds = [](const char* key, double s) {
    return check(key, s, s >= 0 && s <= kLongest, "from 0 to 1000000000");
  };
  MG_RETURN_IF_ERROR(check_seconds("checkpoint_every_s", job.checkpoint_every_s()));
  MG_RETURN_IF_ERROR(check_seconds("step_timeout_s", job.step_timeout_s()));
  MG_RETURN_IF_ERROR(check("limit", job.limit(), job.limit() >= 0, "0 or more"));
  MG_RETURN_IF_ERROR(check_local_training(job));
  MG_RETURN_IF_ERROR(parse_consistency(job.consistency()));
  MG_RETURN_IF_ERROR(parse_split(job.split()));
  MG_RETURN_IF_ERROR(parse_neighbours(job.neighbours()));
  MG_RETURN_IF_ERROR(parse_topology(job.topology()));
  MG_RETURN_IF_ERROR(check_balance(job));
  MG_RETURN_IF_ERROR(check_shared_samples(job));
  MG_RETURN_IF_ERROR(shuffle_window(job));
  MG_RETURN_IF_ERROR(is_from_cluster(job));
  MG_RETURN_IF_ERROR(check("sample_cache", job.sample_cache(),
                           job.sample_cache() >= 0 && job.sample_cache() <= kMostMemory, "from 0 to 2^50"));
  MG_RETURN_IF_ERROR(check_codecs(job));
  MG_RETURN_IF_ERROR(check_frozen(job));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  return check_pipeline(job, recipe);
}

Seconds step_timeout(const TrainJob& job) {
  return job.step_timeout_s() > 0 ? job.step_timeout_s() : 30;
}

Seconds checkpoint_interval(const TrainJob& job) {
  return job.checkpoint_every_s() > 0 ? job.checkpoint_every_s() : 30;
}

Result<std::uint32_t> shuffle_window(const TrainJob& job) {
  if (job.shuffle().empty() || job.shuffle() == "all") return 0u;
  const auto window = number_argument_of(job.shuffle(), "window");
  if (window && *window >= 1 && *window <= kMostInWindow) return static_cast<std::uint32_t>(*window);
  return make_error(Code::invalid_argument, "shuffle: must be all or window(N) with N from 1 to " +
                                                std::to_string(kMostInWindow) + ", got '" + job.shuffle() + "'");
}

std::int64_t local_steps(const TrainJob& job) {
  return job.local_steps() > 0 ? job.local_steps() : 16;
}

float client_fraction(const TrainJob& job) {
  return job.client_fraction() > 0 ? job.client_fraction() : 1;
}

float outer_learning_rate(const TrainJob& job) {
  return job.outer_learning_rate() > 0 ? job.outer_learning_rate() : 1;
}

std::string settings_text(const TrainJob& job, const Hyperparameters& recipe, const Graph& graph,
                          std::int64_t train_samples) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) { text += std::string(key) + "=" + value + "\n"; };
  const Strategy& strategy = strategy_of(job);
  add("strategy", job.strategy());
  add("consistency", job.consistency());
  add("topology", job.topology());
  if (job.balance() == "speed") add("balance", job.balance());
  add("model", graph.name() + ", " + std::to_string(graph.nodes().size()) + " operators, " +
                   std::to_string(graph.parameter_elements()) + " parameters");
  if (has_frozen_part(job)) add("frozen", fingerprint(job.frozen()));
  add("data", job.data());
  add("augment", job.augment());
  add("train_samples", std::to_string(train_samples));
  add("epochs", std::to_string(job.epochs()));
  add("batch", std::to_string(job.batch()));
  add("micro_batch", std::to_string(job.micro_batch()));
  add("learning_rate", exact(job.learning_rate()));
  add("seed", std::to_string(job.seed()));
  if (job.shuffle().starts_with("window")) add("shuffle", job.shuffle());
  add("patience", std::to_string(recipe.patience));
  add("ema_decay", exact(recipe.ema_decay));
  const learn::OptimizerOptions& optimizer = recipe.optimizer;
  add("optimizer", optimizer.name);
  add("momentum", exact(optimizer.momentum));
  add("beta1", exact(optimizer.beta1));
  add("beta2", exact(optimizer.beta2));
  add("alpha", exact(optimizer.alpha));
  add("epsilon", exact(optimizer.epsilon));
  add("trust", exact(optimizer.trust));
  add("weight_decay", exact(optimizer.weight_decay));
  add("clip_norm", exact(optimizer.clip_norm));
  add("clip_value", exact(optimizer.clip_value));
  const learn::ScheduleOptions& schedule = recipe.schedule;
  std::string milestones;
  for (const std::int64_t epoch : schedule.milestones)
    milestones += (milestones.empty() ? "" : ",") + std::to_string(epoch);
  add("schedule", schedule.name);
  add("warmup_steps", std::to_string(schedule.warmup_steps));
  add("step_epochs", std::to_string(schedule.step_epochs));
  add("milestones", milestones);
  add("gamma", exact(static_cast<float>(schedule.gamma)));
  add("plateau_patience", std::to_string(schedule.patience));
  add("loss", recipe.loss.name);
  add("label_smoothing", exact(recipe.loss.label_smoothing));
  std::string exit_weights;
  for (const float weight : recipe.loss.exit_weights) exit_weights += (exit_weights.empty() ? "" : ",") + exact(weight);
  if (!exit_weights.empty()) add("exit_weights", exit_weights);
  if (!is_plain(job.codec())) add("codec", job.codec());
  if (!is_plain(job.codec_pull())) add("codec_pull", job.codec_pull());
  if (job.codec_warmup() > 0) add("codec_warmup", std::to_string(job.codec_warmup()));
  if (strategy.averages_with_neighbours) add("neighbours", job.neighbours().empty() ? "ring" : job.neighbours());
  if (strategy.pipeline != nullptr) {
    add("local_steps", std::to_string(local_steps(job)));
    add("micro_batches", std::to_string(job.micro_batches()));
    if (job.ahead() > 0) add("ahead", std::to_string(job.ahead()));
  }
  if (strategy.steps_locally) {
    add("local_steps", std::to_string(local_steps(job)));
    add("split", job.split().empty() ? "iid" : job.split());
  }
  if (!strategy.steps_locally && job.split() == "shards") add("split", job.split());
  if (strategy.steps_locally && strategy.has_server) {
    add("local_epochs", std::to_string(job.local_epochs()));
    add("client_fraction", exact(client_fraction(job)));
    if (job.shared_samples() > 0) add("shared_samples", exact(job.shared_samples()));
    add("outer_learning_rate", exact(outer_learning_rate(job)));
    add("outer_momentum", exact(job.outer_momentum()));
  }
  return text;
}

Status check_same_settings(const std::string& checkpoint, const std::string& job) {
  if (checkpoint == job) return {};
  auto before = parse_settings(checkpoint);
  auto now = parse_settings(job);
  for (auto* settings : {&before, &now}) {
    settings->erase(kSamplesPerStep);
    settings->erase(kBaseRate);
  }
  if (before == now) return {};
  auto keys = before;
  keys.insert(now.begin(), now.end());
  std::string differences;
  for (const auto& [key, unused] : keys) {
    const std::string was = value_of(before, key), is = value_of(now, key);
    if (was == is) continue;
    differences +=
        (differences.empty() ? "" : "; ") + key + " is " + was + " in the checkpoint and " + is + " in this job";
  }
  return make_error(Code::invalid_argument, "resume: the checkpoint is of another job: " + differences);
}

std::string with_pace(const std::string& settings, const StepBasis& pace) {
  return settings + kSamplesPerStep + "=" + std::to_string(pace.samples_per_step) + "\n" + kBaseRate + "=" +
         exact(pace.base_learning_rate) + "\n";
}

Result<StepBasis> pace_of(const std::string& settings) {
  const auto parsed = parse_settings(settings);
  StepBasis pace;
  MG_TRY(pace.samples_per_step, number_of<std::int64_t>(parsed, kSamplesPerStep));
  if (pace.samples_per_step > kMostPerStep)
    return make_error(Code::data_loss,
                      "resume: the checkpoint has steps of " + std::to_string(pace.samples_per_step) + " samples");
  MG_TRY(pace.base_learning_rate, number_of<float>(parsed, kBaseRate));
  return pace;
}

float base_learning_rate(const TrainJob& job, const learn::OptimizerRow& optimizer, std::size_t workers) {
  constexpr std::size_t kMostWorkers = 6;
  if (job.learning_rate() > 0) return job.learning_rate();
  const std::size_t times = optimizer.scales ? std::min(workers, kMostWorkers) : 1;
  return optimizer.default_rate * static_cast<float>(times);
}

}  // namespace mangrove::train

#include "mangrove/train/job_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "mangrove/base/call_syntax.h"
#include "mangrove/data/sha256.h"
#include "mangrove/job/keys.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/aggregate_key.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/data_parallel/neighbours.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/data_parallel/secure_key.h"
#include "mangrove/train/data_parallel/shared_samples.h"
#include "mangrove/train/frozen.h"
#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMostInWindow = 1'000'000'000;
constexpr std::size_t kMostWorkers = 6;                       // that a default learning rate grows with
constexpr std::int64_t kMostPerStep = std::int64_t{1} << 50;  // samples, of all workers together

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

std::string sha256_of(const std::string& bytes) {
  return data::sha256({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

Status check_job(const TrainJob& job) {
  MG_RETURN_IF_ERROR(job::check_keys(job));
  MG_RETURN_IF_ERROR(find_strategy(job.strategy()));
  if (job.micro_batch() > job.batch())
    return make_error(Code::invalid_argument, "micro_batch: must be at most the batch, " + std::to_string(job.batch()) +
                                                  ", got " + std::to_string(job.micro_batch()));
  MG_RETURN_IF_ERROR(parse_consistency(job.consistency()));
  MG_RETURN_IF_ERROR(parse_split(job.split()));
  MG_RETURN_IF_ERROR(parse_neighbours(job.neighbours()));
  MG_RETURN_IF_ERROR(parse_topology(job.topology()));
  MG_RETURN_IF_ERROR(check_balance(job));
  MG_RETURN_IF_ERROR(check_shared_samples(job));
  MG_RETURN_IF_ERROR(shuffle_window(job));
  MG_RETURN_IF_ERROR(is_from_cluster(job));
  MG_RETURN_IF_ERROR(check_codecs(job));
  MG_RETURN_IF_ERROR(check_aggregate(job));
  MG_RETURN_IF_ERROR(check_privacy(job));
  MG_RETURN_IF_ERROR(check_secure_aggregation(job));
  MG_RETURN_IF_ERROR(check_frozen(job));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  return check_pipeline(job, recipe);
}

Result<std::uint32_t> shuffle_window(const TrainJob& job) {
  if (job.shuffle().empty() || job.shuffle() == "all") return 0u;
  const auto window = number_argument_of(job.shuffle(), "window");
  if (window && *window >= 1 && *window <= kMostInWindow) return static_cast<std::uint32_t>(*window);
  return make_error(Code::invalid_argument, "shuffle: must be all or window(N) with N from 1 to " +
                                                std::to_string(kMostInWindow) + ", got '" + job.shuffle() + "'");
}

std::string settings_text(const TrainJob& job, const Graph& graph, std::int64_t train_samples) {
  std::string text = job::fingerprint(job, {job.strategy(), std::string(strategy_of(job).keys_of)});
  const auto add = [&](const char* key, const std::string& value) { text += std::string(key) + "=" + value + "\n"; };
  add("model", graph.name() + ", " + std::to_string(graph.nodes().size()) + " operators, " +
                   std::to_string(graph.parameter_elements()) + " parameters");
  if (has_frozen_part(job)) add("frozen", sha256_of(job.frozen()));
  add("data", job.data());
  add("train_samples", std::to_string(train_samples));
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
  if (job.learning_rate() > 0) return job.learning_rate();
  const std::size_t times = optimizer.scales ? std::min(workers, kMostWorkers) : 1;
  return optimizer.default_rate * static_cast<float>(times);
}

std::string default_rates_text() {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // rate, and the optimizers that have it
  for (const learn::OptimizerRow& row : learn::optimizers()) {
    const std::string rate = fmt::format("{}{}", row.default_rate, row.scales ? " per worker" : "");
    auto group = std::ranges::find(groups, rate, [](const auto& one) { return one.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {rate, {}});
    group->second.emplace_back(row.name);
  }
  std::string text;
  for (const auto& [rate, names] : groups)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", rate, fmt::join(names, ", "));
  return text + fmt::format("; for at most {} workers", kMostWorkers);
}

}  // namespace mangrove::train

#include "mangrove/train/job_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "mangrove/learn/optimizer.h"

namespace mangrove::train {
namespace {

// of a Pace
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

}  // namespace

Status check_job(const TrainJob& job) {
  MG_RETURN_IF_ERROR(check("epochs", job.epochs(), job.epochs() >= 1, "at least 1"));
  MG_RETURN_IF_ERROR(check("batch", job.batch(), job.batch() >= 1 && job.batch() <= 1 << 20, "from 1 to 1048576"));
  const float rate = job.learning_rate();
  MG_RETURN_IF_ERROR(check("learning_rate", rate, std::isfinite(rate) && rate >= 0, "0 or more"));
  MG_RETURN_IF_ERROR(check("momentum", job.momentum(), job.momentum() >= 0 && job.momentum() < 1, "from 0 to below 1"));
  const float decay = job.weight_decay();
  MG_RETURN_IF_ERROR(check("weight_decay", decay, std::isfinite(decay) && decay >= 0, "0 or more"));
  MG_RETURN_IF_ERROR(check("warmup_steps", job.warmup_steps(), job.warmup_steps() >= 0, "0 or more"));
  const auto valid_seconds = [](double s) { return std::isfinite(s) && s >= 0; };
  MG_RETURN_IF_ERROR(
      check("checkpoint_every_s", job.checkpoint_every_s(), valid_seconds(job.checkpoint_every_s()), "0 or more"));
  MG_RETURN_IF_ERROR(check("step_timeout_s", job.step_timeout_s(), valid_seconds(job.step_timeout_s()), "0 or more"));
  MG_RETURN_IF_ERROR(check("limit", job.limit(), job.limit() >= 0, "0 or more"));
  MG_RETURN_IF_ERROR(learn::parse_schedule(job.schedule()).context("schedule"));
  return {};
}

Seconds step_timeout(const TrainJob& job) {
  return job.step_timeout_s() > 0 ? job.step_timeout_s() : 30;
}

Seconds checkpoint_interval(const TrainJob& job) {
  return job.checkpoint_every_s() > 0 ? job.checkpoint_every_s() : 30;
}

std::string settings_text(const TrainJob& job, const Graph& graph, std::int64_t train_samples) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) { text += std::string(key) + "=" + value + "\n"; };
  add("strategy", job.strategy());
  add("model", graph.name() + ", " + std::to_string(graph.nodes().size()) + " operators, " +
                   std::to_string(graph.parameter_elements()) + " parameters");
  add("data", job.data());
  add("train_samples", std::to_string(train_samples));
  add("epochs", std::to_string(job.epochs()));
  add("batch", std::to_string(job.batch()));
  add("learning_rate", exact(job.learning_rate()));
  add("momentum", exact(job.momentum()));
  add("weight_decay", exact(job.weight_decay()));
  add("schedule", job.schedule());
  add("warmup_steps", std::to_string(job.warmup_steps()));
  add("seed", std::to_string(job.seed()));
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

std::string with_pace(const std::string& settings, const Pace& pace) {
  return settings + kSamplesPerStep + "=" + std::to_string(pace.samples_per_step) + "\n" + kBaseRate + "=" +
         exact(pace.base_learning_rate) + "\n";
}

Result<Pace> pace_of(const std::string& settings) {
  const auto parsed = parse_settings(settings);
  Pace pace;
  MG_TRY(pace.samples_per_step, number_of<std::int64_t>(parsed, kSamplesPerStep));
  MG_TRY(pace.base_learning_rate, number_of<float>(parsed, kBaseRate));
  return pace;
}

float base_learning_rate(const TrainJob& job, std::size_t workers) {
  constexpr float kPerWorker = 0.05f, kHighest = 0.3f;
  if (job.learning_rate() > 0) return job.learning_rate();
  return std::min(kPerWorker * static_cast<float>(workers), kHighest);
}

}  // namespace mangrove::train

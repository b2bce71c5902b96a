#include "mangrove/train/keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/table.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/job/keys.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/schedule.h"
#include "mangrove/train/aggregation/aggregation.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

/// {"optimizers adam", "adamw"}: joined, they say of what a key is.
std::vector<std::string> named_readers(const std::string& what, std::vector<std::string> names) {
  MG_CHECK(!names.empty());
  names.front() = what + (names.size() > 1 ? "s " : " ") + names.front();
  return names;
}

template <class Trait>
std::vector<std::string> strategies_where(Trait has_trait) {
  std::vector<std::string> names;
  for (const Strategy& row : strategies())
    if (has_trait(row)) names.emplace_back(row.name);
  return names;
}

/// What the tables have to say in help texts.
job::HelpWords help_words() {
  std::vector<std::string> losses;
  for (const learn::LossRow& loss : learn::losses())
    if (!loss.needs_dense) losses.emplace_back(loss.name);  // a job has labels only
  job::HelpWords words = {{"strategies", row_names(strategies())},
                          {"local_strategies", strategies_where([](const Strategy& row) { return row.steps_locally; })},
                          {"pipelines", strategies_where([](const Strategy& row) { return row.pipeline != nullptr; })},
                          {"backends", {known_backends().begin(), known_backends().end()}},
                          {"optimizers", row_names(learn::optimizers())},
                          {"default_rates", {default_rates_text()}},
                          {"schedules", row_names(learn::schedules())},
                          {"losses", losses},
                          {"aggregations", row_names(aggregations())}};
  for (const std::string constant : {"momentum", "beta1", "beta2", "alpha", "epsilon", "trust"})
    words["with_" + constant] = named_readers("optimizer", learn::optimizers_with(constant));
  for (const std::string constant : {"step_epochs", "milestones", "gamma", "plateau_patience"})
    words["with_" + constant] = named_readers("schedule", learn::schedules_with(constant));
  return words;
}

}  // namespace

void add_keys(TrainJob& job, Keys& keys) {
  job::add_keys(job, help_words(), keys);
  for (const std::string& name : keys.names()) {
    std::vector<std::string>& readers = keys.at(name).strategies;
    for (const Strategy& row : strategies())
      if (std::ranges::count(readers, row.keys_of) > 0) readers.emplace_back(row.name);
  }
  Key& strategy = keys.at("strategy");
  strategy.set = [set = strategy.set](const std::string& name) -> Status {
    MG_RETURN_IF_ERROR(find_row(strategies(), name, "unknown strategy", Code::invalid_argument));
    return set(name);
  };
}

}  // namespace mangrove::train

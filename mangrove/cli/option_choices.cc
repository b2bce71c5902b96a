#include "mangrove/cli/option_choices.h"

#include "mangrove/codec/codec.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/backend.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/schedule.h"
#include "mangrove/place/solver.h"
#include "mangrove/train/strategy.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

using Names = std::vector<std::string>;

template <class Table>
Names names_of(const Table& table) {
  Names names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

struct Choices {
  std::string_view command;  // "": any
  std::string_view option;
  Names (*names)();
};

constexpr Choices kChoices[] = {
    {"infer", "--help", [] { return names_of(infer::strategies()); }},
    {"train", "--help", [] { return names_of(train::strategies()); }},
    {"infer", "--strategy", [] { return names_of(infer::strategies()); }},
    {"", "--strategy", [] { return names_of(train::strategies()); }},
    {"train", "--model", [] { return names_of(zoo::models()); }},
    {"run", "--model", [] { return names_of(zoo::models()); }},
    {"show", "model", [] { return names_of(zoo::models()); }},
    {"export", "model", [] { return names_of(zoo::models()); }},
    {"profile", "model", [] { return names_of(zoo::models()); }},
    {"fetch", "name", [] { return Names(data::dataset_names().begin(), data::dataset_names().end()); }},
    {"", "--data", [] { return Names(data::dataset_names().begin(), data::dataset_names().end()); }},
    {"", "--backend", [] { return Names(backend_names().begin(), backend_names().end()); }},
    {"", "--codec", [] { return names_of(codec::codecs()); }},
    {"", "--downlink-codec", [] { return names_of(codec::codecs()); }},
    {"", "--optimizer", [] { return names_of(learn::optimizers()); }},
    {"", "--schedule", [] { return names_of(learn::schedules()); }},
    {"", "--loss", [] { return names_of(learn::losses()); }},
    {"", "--scheduler", [] { return names_of(infer::schedulers()); }},
    {"place", "--solver", [] { return names_of(place::solvers()); }},
    {"place", "--objective", [] { return names_of(place::measures()); }},
    {"", "--policy", [] { return names_of(infer::fault_policies()); }},
    {"pack", "--compress",
     [] {
       return Names{"none", "zstd"};
     }},
    {"completion", "shell",
     [] {
       return Names{"bash", "zsh", "fish"};
     }},
};

}  // namespace

Names option_choices(std::string_view command, std::string_view option) {
  for (const Choices& row : kChoices)
    if (row.option == option && (row.command.empty() || row.command == command)) return row.names();
  return {};
}

}  // namespace mangrove::cli

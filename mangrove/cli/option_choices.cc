#include "mangrove/cli/option_choices.h"

#include <algorithm>

#include "mangrove/cli/settings.h"
#include "mangrove/codec/codec.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/backend.h"
#include "mangrove/infer/strategy.h"
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
    {"place", "--solver", [] { return names_of(place::solvers()); }},
    {"place", "--objective", [] { return names_of(place::measures()); }},
    {"pack", "--compress",
     [] {
       return Names{"none", "zstd"};
     }},
    {"completion", "shell",
     [] {
       return Names{"bash", "zsh", "fish"};
     }},
};

/// Of the key of a job that the option is, where it takes a name of a table. Other commands have options of both.
Names choices_of_key(std::string_view command, std::string_view option) {
  TrainSettings training;
  InferSettings inference;
  std::vector<Keys> jobs = {training.keys(), inference.keys()};
  if (command == "infer") std::ranges::reverse(jobs);
  for (const Keys& keys : jobs)
    for (const Key& key : keys.all())
      if (key.flag() == option && !key.choices.empty()) return key.choices;
  return {};
}

}  // namespace

Names option_choices(std::string_view command, std::string_view option) {
  for (const Choices& row : kChoices)
    if (row.option == option && (row.command.empty() || row.command == command)) return row.names();
  return choices_of_key(command, option);
}

}  // namespace mangrove::cli

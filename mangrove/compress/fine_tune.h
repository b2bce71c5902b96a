#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "mangrove/base/keys.h"
#include "mangrove/compress/constraint.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"

namespace mangrove::compress {

/// What a recipe runs with, the same for all of its steps.
struct Workplace {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Augmentation> augmentation;  // null: samples as they are
  /// Gives the network that FineTuning::teacher names; "original" is the one before the first step.
  std::function<Result<Graph>(const std::string& teacher)> load_teacher;
  std::string backend;
  int threads = 1;
  std::uint64_t seed = 1;
  std::stop_token stop;
  /// Told how far a piece of work is; a new `phase` is the next piece.
  std::function<void(const std::string& phase, std::int64_t done, std::int64_t total)> progress = {};
};

/// How a network is trained on within a step. The learning rate falls to 0 along half a cosine.
struct FineTuning {
  std::int64_t epochs = 1;
  double learning_rate = 0.01;
  double weight_decay = 0;
  std::int64_t batch = 64;
  std::string optimizer = "momentum";
  std::string teacher;  // "original", or a model file; empty: the labels teach
  double temperature = 4;

  /// Keys under the names of the members.
  void declare(Keys& keys);
};

/// Trains the network on, and keeps its constraints: see constrain_gradients. With a teacher its logits take the place
/// of the labels.
/// round  of the step: another order of samples.
/// errors: those of Trainer::create and Trainer::step; invalid_argument (a teacher of other samples or classes);
/// cancelled. Nothing is done with 0 epochs.
/// source: Hinton, Vinyals & Dean, Distilling the knowledge in a neural network, 2015, for the teacher.
Result<Network> fine_tune(Network network, const FineTuning& settings, const Workplace& workplace, std::uint64_t round);

}  // namespace mangrove::compress

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mangrove/base/units.h"

namespace mangrove::job {

/// How far a job is.
struct Progress {
  std::string phase;                         // "train", "validate", "pipeline"
  std::optional<std::int64_t> epoch = {};    // of training; counts from 1
  std::optional<std::int64_t> epochs = {};   // of training
  std::optional<std::int64_t> step = {};     // of training
  std::optional<std::int64_t> steps = {};    // of training
  std::optional<double> loss = {};           // of training; mean over the samples since the last report
  std::optional<double> accuracy = {};       // so
  std::optional<double> learning_rate = {};  // of the last step
  std::optional<double> epsilon = {};        // of training with `privacy`: spent so far
  std::int64_t done = 0, total = 0;          // samples, or images
  double images_per_s = 0;
  Seconds eta = 0;  // how long it still takes; 0: not known

  /// What is left at that speed.
  void estimate() { eta = images_per_s > 0 ? static_cast<double>(total - done) / images_per_s : 0; }

  static void fields(auto& self, auto& field) {
    field("phase", self.phase);
    field("epoch", self.epoch);
    field("epochs", self.epochs);
    field("step", self.step);
    field("steps", self.steps);
    field("loss", self.loss);
    field("accuracy", self.accuracy);
    field("learning_rate", self.learning_rate);
    field("epsilon", self.epsilon);
    field("done", self.done);
    field("total", self.total);
    field("images_per_s", self.images_per_s);
    field("eta_s", self.eta);
  }
};

}  // namespace mangrove::job

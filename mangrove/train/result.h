#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/learn/best_model.h"
#include "mangrove/train/advice.h"
#include "mangrove/train/events.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

// The messages about training to the client, besides progress and events. docs/json.md explains the keys.

/// The figures of an epoch.
struct EpochReport {
  std::int64_t epoch = 0;                          // the epoch that is done, counted from 1
  std::optional<double> loss = {}, accuracy = {};  // on the training samples; nothing if compute is only modelled
  double learning_rate = 0;                        // at its last step
  Seconds train_seconds = 0;                       // so far
  std::optional<std::vector<double>> exit_accuracy = {};  // at each exit, for a network with early exits
  std::optional<double> validation_loss = {}, validation_accuracy = {};
  std::optional<std::vector<double>> validation_exit_accuracy = {};
  std::optional<std::int64_t> best_epoch = {};  // the best validation so far
  std::optional<double> best_accuracy = {};
  std::optional<double> epsilon = {};     // spent so far, with `privacy`
  std::optional<std::string> phase = {};  // if the client runs several jobs one after the other

  static void fields(auto& self, auto& field) {
    field("epoch", self.epoch);
    field("loss", self.loss);
    field("accuracy", self.accuracy);
    field("learning_rate", self.learning_rate);
    field("train_seconds", self.train_seconds);
    field("exit_accuracy", self.exit_accuracy);
    field("validation_loss", self.validation_loss);
    field("validation_accuracy", self.validation_accuracy);
    field("validation_exit_accuracy", self.validation_exit_accuracy);
    field("best_epoch", self.best_epoch);
    field("best_accuracy", self.best_accuracy);
    field("epsilon", self.epsilon);
    field("phase", self.phase);
  }
};

/// What a job with `privacy` has promised of its model, and what it has cost.
struct PrivacyReport {
  std::string protects;           // "samples" or "workers"
  double epsilon = 0, delta = 0;  // of all steps that were made
  double budget = 0;              // the most that epsilon may be
  double clip = 0, noise = 0;     // the most that one adds, and the standard deviation of the noise by it
  double rate = 0;                // with which each is in a step
  std::int64_t steps = 0;         // that were made
  bool noise_is_of_seed = false;  // who knows the job's seed can take the noise away again

  static void fields(auto& self, auto& field) {
    field("protects", self.protects);
    field("epsilon", self.epsilon);
    field("delta", self.delta);
    field("budget", self.budget);
    field("clip", self.clip);
    field("noise", self.noise);
    field("rate", self.rate);
    field("steps", self.steps);
    field("noise_is_of_seed", self.noise_is_of_seed);
  }
};

/// A checkpoint; the report carries its file.
struct CheckpointReport {
  std::int64_t epoch = 0, step = 0;

  static void fields(auto& self, auto& field) {
    field("epoch", self.epoch);
    field("step", self.step);
  }
};

/// A device that has a stage of a pipeline.
struct TrainedStage {
  std::size_t stage = 0;  // from 0
  std::string node;
  std::vector<std::string> operators;
  std::size_t parameters = 0;         // elements
  Seconds forward = 0, backward = 0;  // for a micro-batch; backward includes its part of the update
  Seconds busy = 0;                   // the device, for a micro-batch; below one core, with messages and samples
  std::optional<Seconds> predicted_busy = {};  // when the network was cut; nothing: it was not cut by measured times
  double idle = 0, predicted_idle = 0;         // share of the time; predicted from the schedule and these times
  std::int64_t in_flight = 0;                  // the most micro-batches between their forward and backward passes
  std::vector<std::int64_t> staleness = {};    // updates that were late by 0, 1, 2 ... others

  static void fields(auto& self, auto& field) {
    field("stage", self.stage);
    field("node", self.node);
    field("operators", self.operators);
    field("parameters", self.parameters);
    field("forward_s", self.forward);
    field("backward_s", self.backward);
    field("busy_s", self.busy);
    field.or_null("predicted_busy_s", self.predicted_busy);
    field("idle", self.idle);
    field("predicted_idle", self.predicted_idle);
    field("in_flight", self.in_flight);
    field("staleness", self.staleness);
  }
};

/// Messages of one direction.
struct ExchangeReport {
  std::int64_t messages = 0;
  Bytes bytes = 0, float_bytes = 0;
  double compression = 0;

  ExchangeReport() = default;
  explicit ExchangeReport(const TransferStats& stats);
  static void fields(auto& self, auto& field) {
    field("messages", self.messages);
    field("bytes", self.bytes);
    field("float_bytes", self.float_bytes);
    field("compression", self.compression);
  }
};

/// The result of training. Figures that were not computed are missing (`mangrove sim --compute modelled`).
struct TrainResult {
  /// In training: to the server, from it, and between workers.
  struct Exchange {
    ExchangeReport uplink, downlink, peers;
    static void fields(auto& self, auto& field) {
      field("uplink", self.uplink);
      field("downlink", self.downlink);
      field("peers", self.peers);
    }
  };
  struct Memory {
    MemoryPlanned plan;
    std::optional<Bytes> measured_peak;
    static void fields(auto& self, auto& field) {
      MemoryPlanned::fields(self.plan, field);
      field("measured_peak", self.measured_peak);
    }
  };

  std::optional<double> accuracy, macro_f1;                         // on the test samples
  std::optional<std::vector<std::vector<std::int64_t>>> confusion;  // row: truth; column: prediction
  std::vector<std::string> classes;
  std::int64_t epochs = 0, steps = 0, samples = 0;
  Seconds train_seconds = 0, eval_seconds = 0;
  double images_per_s = 0;
  std::optional<double> loss, train_accuracy;  // of the last epoch
  std::int64_t workers = 0, batch = 0;
  std::optional<double> test_loss;
  std::optional<std::vector<double>> exit_accuracy;  // on the test samples
  std::optional<std::int64_t> best_epoch;            // the best validation
  std::optional<double> best_validation_accuracy, best_validation_loss;
  std::optional<std::vector<std::int64_t>> staleness;  // updates that were late by 0, 1, 2 ... others
  std::optional<Advice> advice;                        // if there are several boards
  std::optional<std::vector<TrainedStage>> stages;     // if it was a pipeline
  std::optional<Exchange> exchange;
  std::optional<PrivacyReport> privacy;       // if the job has it
  std::optional<std::vector<Memory>> memory;  // by worker
  std::optional<std::string> compute;         // "modelled"; else it was real

  /// The best validation; epoch 0: there was no validation.
  void set_best(const learn::BestModel& best);

  static void fields(auto& self, auto& field) {
    field("accuracy", self.accuracy);
    field("macro_f1", self.macro_f1);
    field("confusion", self.confusion);
    field("classes", self.classes);
    field("epochs", self.epochs);
    field("steps", self.steps);
    field("samples", self.samples);
    field("train_seconds", self.train_seconds);
    field("eval_seconds", self.eval_seconds);
    field("images_per_s", self.images_per_s);
    field("loss", self.loss);
    field("train_accuracy", self.train_accuracy);
    field("workers", self.workers);
    field("batch", self.batch);
    field("test_loss", self.test_loss);
    field("exit_accuracy", self.exit_accuracy);
    field("best_epoch", self.best_epoch);
    field("best_validation_accuracy", self.best_validation_accuracy);
    field("best_validation_loss", self.best_validation_loss);
    field("staleness", self.staleness);
    field("advice", self.advice);
    field("stages", self.stages);
    field("exchange", self.exchange);
    field("privacy", self.privacy);
    field("memory", self.memory);
    field("compute", self.compute);
  }
};

}  // namespace mangrove::train

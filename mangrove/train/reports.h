#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/job/reports.h"
#include "mangrove/learn/best_model.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/train/advice.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

/// What the server tells the client of training.
/// threads: one at a time.
class Reports final : public job::Reports {
 public:
  using job::Reports::Reports;

  struct Progress {
    std::int64_t epoch = 0, epochs = 0;  // epoch counts from 1
    std::int64_t step = 0, steps = 0;
    double loss = 0, accuracy = 0;     // means over the samples since the last report
    std::int64_t done = 0, total = 0;  // samples
    double images_per_s = 0;
    double learning_rate = 0;  // of the last step
  };
  void train_progress(const Progress& progress);
  /// validation: of that split, else of the test split.
  void evaluate_progress(bool validation, std::int64_t done, std::int64_t total, double images_per_s);

  struct Epoch {
    std::int64_t epoch = 0;  // done; counts from 1
    learn::BatchStats train;
    double learning_rate = 0;  // of its last step
    double train_seconds = 0;  // so far
    struct Validation {
      bool there_is = false;
      double accuracy = 0, loss = 0;
      std::vector<double> exit_accuracy;  // of a network with early exits, at each exit
      learn::BestModel best;              // so far
    } validation;
  };
  /// best_model: ONNX, where this epoch's validation is the best so far; else empty.
  void epoch(const Epoch& epoch, std::string best_model);
  /// The best validation was `patience` epochs ago.
  void stopped_early(std::int64_t epoch, const learn::BestModel& best);

  void work_reassigned(net::Rank rank, const std::string& reason, std::size_t samples, std::int64_t step);
  /// names: of one node, or of several that are left out for the same reason.
  void worker_left_out(const std::string& names, const std::string& reason);
  void worker_back(net::Rank rank);
  /// Of one worker; told once, and again where it changes.
  void memory_plan(net::Rank rank, const MemoryPlan& plan);
  /// The most memory that a worker's process has had, bytes.
  void peak_resident(net::Rank rank, Bytes bytes) { peaks_[rank] = bytes; }

  /// Samples of a step, or of a round, go by speed from now on: so many to each.
  void balanced(const std::map<net::Rank, std::size_t>& shares, std::int64_t step);
  /// A worker has chosen the codec of its link.
  void codec_chosen(net::Rank rank, const ChosenCodec& chosen);
  /// A worker did not get a shard from that rank: it is "lost", "silent", "has it not", or what it gave is "corrupt".
  void shard_refused(net::Rank by, net::Rank source, const std::string& shard, const std::string& reason);
  /// A worker has all shards that it is going to need, of which it got so many from the coordinator and from others.
  void data_is_there(net::Rank rank, std::int64_t from_leader, std::int64_t from_others);
  /// One board alone would be faster.
  void advice(const Advice& advice);

  /// Updates of the values between those that a gradient was computed with and those that it changed.
  void staleness(std::int64_t updates) { ++staleness_[updates]; }

  /// A device of a stage of a pipeline.
  struct Stage {
    std::size_t stage = 0;
    std::string node;
    std::vector<std::string> operators;
    std::size_t parameters = 0;         // elements
    Seconds forward = 0, backward = 0;  // of a micro-batch; backward: with its part of the update
    Seconds busy = 0;                   // of the device with a micro-batch; below a core, messages and samples too
    std::optional<Seconds> predicted_busy = {};  // as the network was cut; nothing: not by measured times
    double idle = 0, predicted_idle = 0;         // share of the time; predicted: by the schedule and these times
    std::int64_t in_flight = 0;                  // the most micro-batches between forward and backward pass
    std::vector<std::int64_t> staleness = {};    // updates that were late by 0, 1, 2 ... others
  };
  /// As they have worked so far, since they were last cut.
  void stages(std::vector<Stage> stages) { stages_ = std::move(stages); }
  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  /// The network is cut anew. expected_speedup: where that is why.
  void recut(std::size_t stages, std::int64_t step, std::optional<double> expected_speedup = {});

  /// The run goes on, but not bit for bit as it would have.
  void resumed_with_other_workers(std::int64_t samples_per_step_before, std::int64_t samples_per_step);
  void checkpoint(std::int64_t epoch, std::int64_t step, std::string file);

  struct Result {
    std::int64_t epochs = 0, steps = 0, samples = 0, batch = 0;
    int workers = 0;
    double train_seconds = 0, eval_seconds = 0;
    double loss = 0, train_accuracy = 0;  // of the last epoch
    double test_loss = 0;
    std::vector<double> exit_accuracy;  // on the test samples, as of a validation
    learn::BestModel best;              // of the validations; epoch 0: there were none
    std::vector<std::string> class_names;
    std::optional<Advice> advice;                 // of several boards
    TransferStats uplink, downlink, among_peers;  // in training: to the server and from it, and between workers
  };
  void result(const Result& result, const learn::ConfusionMatrix& confusion, std::string model);

 private:
  std::map<net::Rank, std::string> plans_;  // JSON of each
  std::map<net::Rank, Bytes> peaks_;
  std::map<std::int64_t, std::int64_t> staleness_;  // -> updates with it
  std::vector<Stage> stages_;
};

/// ["a", "b"]: a list of names as one text.
std::string json_list(const std::vector<std::string>& names);

}  // namespace mangrove::train

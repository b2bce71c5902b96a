#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/job/reports.h"
#include "mangrove/learn/best_model.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/result.h"

namespace mangrove::train {

/// The messages of the training server to the client.
/// threads: one at a time.
class Reports final : public job::Reports {
 public:
  using job::Reports::Reports;

  struct Epoch {
    std::int64_t epoch = 0;  // the epoch that is done, counted from 1
    learn::BatchStats train;
    double learning_rate = 0;            // at its last step
    double train_seconds = 0;            // so far
    std::optional<double> epsilon = {};  // see EpochReport
    struct Validation {
      bool there_is = false;
      double accuracy = 0, loss = 0;
      std::vector<double> exit_accuracy;  // at each exit, for a network with early exits
      learn::BestModel best;              // so far
    } validation;
  };
  /// best_model: the ONNX file, if this epoch's validation is the best so far; else empty.
  void epoch(const Epoch& epoch, std::string best_model);
  void checkpoint(std::int64_t epoch, std::int64_t step, std::string file);

  void work_reassigned(net::Rank rank, const std::string& reason, std::size_t samples, std::int64_t step);
  /// The plan of one worker. It is reported once, and again when it changes.
  void memory_plan(net::Rank rank, const MemoryPlan& plan);
  /// The most memory that a worker's process has had so far.
  void peak_resident(net::Rank rank, Bytes bytes) { peaks_[rank] = bytes; }
  /// The number of updates between the values that a gradient was computed with and the values that it changes.
  void staleness(std::int64_t updates) { ++staleness_[updates]; }
  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  /// The devices of a pipeline, with their figures since the last cut.
  void stages(std::vector<TrainedStage> stages) { stages_ = std::move(stages); }

  /// Sends the result. This class fills in what it knows itself: the test samples, stages, staleness and memory.
  void result(TrainResult result, const learn::ConfusionMatrix& confusion, std::string model);

 private:
  std::map<net::Rank, MemoryPlanned> plans_;
  std::map<net::Rank, Bytes> peaks_;
  std::map<std::int64_t, std::int64_t> staleness_;  // -> updates with it
  std::vector<TrainedStage> stages_;
};

/// A list of names as one text: ["a", "b"].
std::string json_list(const std::vector<std::string>& names);

}  // namespace mangrove::train

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/report.h"

namespace mangrove::infer {

// The messages about a pipeline, and about a network on one node, to the client. docs/json.md explains the keys.

/// A board that has a stage.
struct StageOnNode {
  std::size_t stage = 0;  // from 0
  std::string node;
  std::size_t operators = 0;  // how many

  static void fields(auto& self, auto& field) {
    field("stage", self.stage);
    field("node", self.node);
    field("operators", self.operators);
  }
};

/// A node was lost, and there is no spare node for its stages. The stages are placed anew in this way.
struct Replanned {
  static constexpr const char* kEvent = "replanned";
  static constexpr bool kIsWarning = true;
  std::vector<StageOnNode> stages;

  std::string sentence() const;
  static void fields(auto& self, auto& field) { field("stages", self.stages); }
};

/// Boards or links have become slower or faster. The stages are placed anew in this way.
struct Revised {
  static constexpr const char* kEvent = "revised";
  static constexpr bool kIsWarning = false;
  std::vector<StageOnNode> stages;

  std::string sentence() const;
  static void fields(auto& self, auto& field) { field("stages", self.stages); }
};

/// A device whose answers are wrong gets no more work.
struct Quarantined {
  static constexpr const char* kEvent = "quarantined";
  static constexpr bool kIsWarning = true;
  std::string node;
  std::int64_t checks = 0, wrong = 0;  // comparisons of its answers; of these, how many it has lost
  // Micro-batches that it had a part in and nobody had confirmed:
  std::int64_t redone = 0;    // they are sent again
  std::int64_t in_doubt = 0;  // their answers have been told already

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("checks", self.checks);
    field("wrong", self.wrong);
    field("redone", self.redone);
    field("in_doubt", self.in_doubt);
  }
};

/// Each device now computes the whole network, so that spot checks can find out whose answers are wrong.
struct Isolated {
  static constexpr const char* kEvent = "isolated";
  static constexpr bool kIsWarning = true;
  static constexpr const char* kWrongAnswers = "wrong_answers";           // of several stages
  static constexpr const char* kNothingToCompare = "nothing_to_compare";  // with the answers of a stage
  std::string why;
  std::vector<StageOnNode> stages;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("why", self.why);
    field("stages", self.stages);
  }
};

/// The load of the stages since the last such line.
struct StageLoad {
  static constexpr const char* kLine = "stage_load";
  struct Board {
    std::int64_t stage = 0;  // from 0
    std::string node;
    double utilisation = 0;  // share of the time
    double queue = 0;        // mean number of waiting micro-batches
    static void fields(auto& self, auto& field) {
      field("stage", self.stage);
      field("node", self.node);
      field("utilisation", self.utilisation);
      field("queue", self.queue);
    }
  };
  Seconds at = 0;  // since the first micro-batch
  std::int64_t micro_batches = 0;
  Seconds latency = 0;  // their mean
  std::vector<Board> stages;

  static void fields(auto& self, auto& field) {
    field("at_s", self.at);
    field("micro_batches", self.micro_batches);
    field("latency_s", self.latency);
    field("stages", self.stages);
  }
};

/// The answer to an image that a client pushed.
struct FrameAnswer {
  std::int64_t frame = 0;  // its number, from 0
  std::string name = {};
  std::optional<std::string> error = {};  // why the file is no image
  std::optional<bool> missed = {};        // true: it missed its deadline
  std::optional<std::int32_t> predicted = {};
  std::optional<std::string> label = {};
  std::optional<float> confidence = {};  // NaN: the network gave no number
  Seconds latency = 0;

  static void fields(auto& self, auto& field) {
    field("frame", self.frame);
    field("name", self.name);
    field("error", self.error);
    field("missed", self.missed);
    field("class", self.predicted);
    field("label", self.label);
    field("confidence", self.confidence);
    field("latency_s", self.latency);
  }
};

struct FrameAnswers {
  std::vector<FrameAnswer> answers;

  static void fields(auto& self, auto& field) { field("answers", self.answers); }
};

/// The measured profile of a device, and its stages.
struct DeviceReport {
  std::string node;
  std::vector<std::size_t> stages;  // from 0
  double predicted_images_per_s = 0;
  std::string profile;  // "measured", "kept"
  double cores = 0;
  double rate = 0;  // rate of its link, bytes a second; 0: too fast to be measured
  Seconds round_trip = 0;

  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("stages", self.stages);
    field("predicted_images_per_s", self.predicted_images_per_s);
    field("profile", self.profile);
    field("cores", self.cores);
    field("rate", self.rate);
    field("round_trip_s", self.round_trip);
  }
};

/// The result of one node with the whole network.
struct SingleResult {
  InferResult all;
  std::string node;
  std::vector<DeviceReport> devices;

  void leave_out_answers() { all.leave_out_answers(); }
  static void fields(auto& self, auto& field) {
    InferResult::fields(self.all, field);
    field("node", self.node);
    field("devices", self.devices);
  }
};

/// The measured figures of a board of a stage, beside the predicted ones.
struct StageReport {
  std::size_t stage = 0;  // from 0
  std::string node;
  std::vector<std::string> operators;
  std::int64_t micro_batches = 0;
  Seconds seconds = 0;                   // busy
  Seconds busy = 0, predicted_busy = 0;  // for one micro-batch
  double utilisation = 0, predicted_utilisation = 0;
  double queue_mean = 0;
  std::int64_t queue_max = 0;
  Bytes resident = 0, predicted_resident = 0, sent_bytes = 0;
  Bytes bytes_per_image = 0;  // to the next stage

  static void fields(auto& self, auto& field) {
    field("stage", self.stage);
    field("node", self.node);
    field("operators", self.operators);
    field("micro_batches", self.micro_batches);
    field("seconds", self.seconds);
    field("busy_s", self.busy);
    field("predicted_busy_s", self.predicted_busy);
    field("utilisation", self.utilisation);
    field("predicted_utilisation", self.predicted_utilisation);
    field("queue_mean", self.queue_mean);
    field("queue_max", self.queue_max);
    field("rss_bytes", self.resident);
    field("predicted_rss_bytes", self.predicted_resident);
    field("sent_bytes", self.sent_bytes);
    field("bytes_per_image", self.bytes_per_image);
  }
};

/// What spot checks have found.
struct TrustReport {
  struct Device {
    std::string node;
    std::int64_t checks = 0, wrong = 0;
    bool quarantined = false;
    static void fields(auto& self, auto& field) {
      field("node", self.node);
      field("checks", self.checks);
      field("wrong", self.wrong);
      field("quarantined", self.quarantined);
    }
  };
  double spot_checks = 0;                 // the job's share
  std::string compared_with;              // "known answers" or "copies"
  std::int64_t checks = 0;                // micro-batches whose answers were compared
  std::int64_t copies = 0;                // micro-batches that were sent once more for that
  std::int64_t disputes = 0;              // of the checks, those in which the first two answers differed
  std::int64_t open = 0;                  // of these, those in which nobody could tell who was right
  std::int64_t redone = 0, in_doubt = 0;  // as of Quarantined, of all devices
  std::vector<Device> devices;

  static void fields(auto& self, auto& field) {
    field("spot_checks", self.spot_checks);
    field("compared_with", self.compared_with);
    field("checks", self.checks);
    field("copies", self.copies);
    field("disputes", self.disputes);
    field("open", self.open);
    field("redone", self.redone);
    field("in_doubt", self.in_doubt);
    field("devices", self.devices);
  }
};

/// The encoded values that nodes have sent to each other.
struct SentActivations {
  std::string encoding;
  Bytes sent_bytes = 0, saved_bytes = 0;  // saved_bytes: bytes that float32 would have taken in addition
  std::optional<double> changed_predictions;
  static void fields(auto& self, auto& field) {
    field("encoding", self.encoding);
    field("sent_bytes", self.sent_bytes);
    field("saved_bytes", self.saved_bytes);
    field("changed_predictions", self.changed_predictions);
  }
};

/// What is told of work that streams through nodes. The keys that compare it with one node are left out without a
/// baseline, and for frames that a client pushed.
struct StreamedResult {
  InferResult all;
  std::optional<double> single_images_per_s, speedup, agreement;
  std::optional<std::int64_t> lost, duplicated;  // images
  std::optional<std::int64_t> unreadable;        // frames
  std::int64_t missed = 0;
  Latency latency;
  std::int64_t repeated = 0;  // micro-batches
  std::size_t window = 0;
  double predicted_images_per_s = 0;
  Seconds predicted_latency = 0;  // of a micro-batch that never waits
  SentActivations activations;

  void leave_out_answers() {
    all.leave_out_answers();
    agreement.reset();
    activations.changed_predictions.reset();
  }
  static void fields(auto& self, auto& field) {
    InferResult::fields(self.all, field);
    field("single_images_per_s", self.single_images_per_s);
    field("speedup", self.speedup);
    field("agreement", self.agreement);
    field("lost", self.lost);
    field("duplicated", self.duplicated);
    field("unreadable", self.unreadable);
    field("missed", self.missed);
    field("latency", self.latency);
    field("repeated", self.repeated);
    field("window", self.window);
    field("predicted_images_per_s", self.predicted_images_per_s);
    field("predicted_latency_s", self.predicted_latency);
    field("activations", self.activations);
  }
};

/// The result of a pipeline.
struct PipelineResult : StreamedResult {
  Seconds predicted_seconds = 0;
  std::string limited_by;
  std::optional<TrustReport> trust;  // of a job with spot checks
  std::vector<StageReport> stages;
  std::vector<DeviceReport> devices;

  static void fields(auto& self, auto& field) {
    StreamedResult::fields(self, field);
    field("predicted_seconds", self.predicted_seconds);
    field("limited_by", self.limited_by);
    field("trust", self.trust);
    field("stages", self.stages);
    field("devices", self.devices);
  }
};

}  // namespace mangrove::infer

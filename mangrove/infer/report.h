#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/job/event.h"

namespace mangrove::infer {

// The messages to the client that all strategies share. docs/json.md explains the keys. Messages of one strategy are in
// the report.h of its folder.

/// node: the name of a node, or the names of several that are left out for the same reason.
struct NodeLeftOut {
  static constexpr const char* kEvent = "node_left_out";
  static constexpr bool kIsWarning = true;
  std::string node, reason;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("reason", self.reason);
  }
};

/// A part of the job is done again, because this node was lost or silent.
struct Redone {
  static constexpr const char* kEvent = "redone";
  static constexpr bool kIsWarning = true;
  std::string phase;  // "single"
  std::string node;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("phase", self.phase);
    field("node", self.node);
  }
};

/// Percentiles in seconds. All are 0 if there is no latency.
struct Latency {
  Seconds p50 = 0, p95 = 0, p99 = 0;

  Latency() = default;
  explicit Latency(std::vector<Seconds> latencies);
  static void fields(auto& self, auto& field) {
    field("p50_s", self.p50);
    field("p95_s", self.p95);
    field("p99_s", self.p99);
  }
};

/// The images that left a network with early exits at one of its exits.
struct ExitReport {
  std::size_t exit = 0;               // from 1
  std::optional<std::string> answer;  // tiers only: the last answer of these images
  std::int64_t images = 0;
  double share = 0;                // share of all images
  std::optional<double> accuracy;  // accuracy on these; nothing: no image left there

  static void fields(auto& self, auto& field) {
    field("exit", self.exit);
    field("answer", self.answer);
    field("images", self.images);
    field("share", self.share);
    field.or_null("accuracy", self.accuracy);
  }
};

/// The part of an inference result that all strategies have.
struct InferResult {
  std::string strategy;
  std::int64_t images = 0;
  std::optional<double> accuracy, macro_f1;  // if the truth is known
  double images_per_s = 0;
  Seconds seconds = 0;
  std::int64_t micro_batch = 0;
  std::optional<Bytes> model_bytes;    // networks that were sent to nodes
  std::optional<std::string> compute;  // "modelled"; else it was real

  void leave_out_answers() {
    accuracy.reset();
    macro_f1.reset();
    compute = "modelled";
  }

  static void fields(auto& self, auto& field) {
    field("strategy", self.strategy);
    field("images", self.images);
    field("accuracy", self.accuracy);
    field("macro_f1", self.macro_f1);
    field("images_per_s", self.images_per_s);
    field("seconds", self.seconds);
    field("micro_batch", self.micro_batch);
    field("model_bytes", self.model_bytes);
    field("compute", self.compute);
  }
};

}  // namespace mangrove::infer

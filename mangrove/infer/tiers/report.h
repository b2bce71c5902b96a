#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/report.h"

namespace mangrove::infer {

// The messages about tiers to the client. docs/json.md explains the keys.

/// A user has switched to another scheduler.
struct SchedulerSwitched {
  static constexpr const char* kEvent = "scheduler_switched";
  static constexpr bool kIsWarning = false;
  std::string from, to;
  Seconds at = 0;  // since the first task

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("from", self.from);
    field("to", self.to);
    field("at_s", self.at);
  }
};

/// The first answer to a task.
struct TierAnswersLine {
  static constexpr const char* kLine = "tier_answers";
  std::string tier;
  std::string answer;      // "first", "second" or "third"
  std::string labels;      // "coarse" or "fine"
  std::int64_t begin = 0;  // the first image
  std::vector<std::int32_t> classes;
  std::vector<double> confidences;  // of each image, 0..1
  Seconds latency = 0;              // since the task was first given out
  // Only for a network with early exits over the tiers:
  std::optional<std::vector<std::int64_t>> images;
  std::optional<std::vector<std::optional<std::int64_t>>> exits;  // counted from 1; nothing: the image stays
  std::string node;
  Seconds at = 0;  // since the first task was given out

  static void fields(auto& self, auto& field) {
    field("tier", self.tier);
    field("answer", self.answer);
    field("labels", self.labels);
    field("begin", self.begin);
    field("classes", self.classes);
    field("confidences", self.confidences);
    field("latency_s", self.latency);
    field("images", self.images);
    field("exits", self.exits);
    field("node", self.node);
    field("at_s", self.at);
  }
};

struct TiersResult {
  /// The answers of a tier.
  struct Tier {
    std::string tier, labels;
    bool is_trusted = true;
    std::int64_t tasks = 0, images = 0;
    std::optional<double> accuracy = {}, coarse_accuracy = {};
    Latency latency = {};  // of its tasks
    // Only for an untrusted tier:
    std::optional<std::string> privacy = {};
    std::optional<Seconds> bottom_seconds = {};  // time of the coordinator for a task
    std::optional<Bytes> bytes_per_image = {};   // bytes sent to it
    static void fields(auto& self, auto& field) {
      field("tier", self.tier);
      field("labels", self.labels);
      field("trusted", self.is_trusted);
      field("tasks", self.tasks);
      field("images", self.images);
      field("accuracy", self.accuracy);
      field("coarse_accuracy", self.coarse_accuracy);
      field("latency", self.latency);
      field("privacy", self.privacy);
      field("bottom_s", self.bottom_seconds);
      field("bytes_per_image", self.bytes_per_image);
    }
  };
  /// The values that were sent up for images that stayed.
  struct SentUp {
    std::string answer;  // the answer that needed them
    Bytes bytes = 0;
    double bytes_per_image = 0;
    static void fields(auto& self, auto& field) {
      field("answer", self.answer);
      field("bytes", self.bytes);
      field("bytes_per_image", self.bytes_per_image);
    }
  };
  struct Device {
    std::string node, tier;
    std::size_t tasks = 0;  // tasks that it was the first to answer
    Seconds busy = 0;       // time for these
    Seconds task = 0, delay = 0;
    std::size_t window = 0;
    bool is_lost = false;
    static void fields(auto& self, auto& field) {
      field("node", self.node);
      field("tier", self.tier);
      field("tasks", self.tasks);
      field("busy_s", self.busy);
      field("task_s", self.task);
      field("delay_s", self.delay);
      field("window", self.window);
      field("lost", self.is_lost);
    }
  };

  InferResult all;
  std::string scheduler, policy;
  Seconds predicted_seconds = 0, image_seconds = 0;
  std::int64_t repeated = 0, given_again = 0, stolen = 0, copied = 0;  // tasks
  std::optional<double> coarse_accuracy;
  std::int64_t lost = 0, skipped = 0, duplicated = 0;  // answers
  std::vector<Tier> tiers;
  // Only for a network with early exits over the tiers:
  std::optional<std::vector<ExitReport>> exits;
  std::optional<std::vector<SentUp>> sent_up;
  std::optional<Bytes> sent_up_bytes;
  std::optional<double> sent_up_bytes_per_image;
  std::optional<Bytes> sample_bytes;  // an image with one byte for each value
  std::vector<Device> devices;

  void leave_out_answers();
  static void fields(auto& self, auto& field) {
    InferResult::fields(self.all, field);
    field("scheduler", self.scheduler);
    field("policy", self.policy);
    field("predicted_seconds", self.predicted_seconds);
    field("image_s", self.image_seconds);
    field("repeated", self.repeated);
    field("given_again", self.given_again);
    field("stolen", self.stolen);
    field("copied", self.copied);
    field("coarse_accuracy", self.coarse_accuracy);
    field("lost", self.lost);
    field("skipped", self.skipped);
    field("duplicated", self.duplicated);
    field("tiers", self.tiers);
    field("exits", self.exits);
    field("sent_up", self.sent_up);
    field("sent_up_bytes", self.sent_up_bytes);
    field("sent_up_bytes_per_image", self.sent_up_bytes_per_image);
    field("sample_bytes", self.sample_bytes);
    field("devices", self.devices);
  }
};

}  // namespace mangrove::infer

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/report.h"

namespace mangrove::infer {

// The messages about a network over devices with a view each. docs/json.md explains the keys.

/// From now on the network works without this view.
struct ViewLost {
  static constexpr const char* kEvent = "view_lost";
  static constexpr bool kIsWarning = true;
  std::size_t view = 0;  // from 1
  std::string node, reason;

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("view", self.view);
    field("node", self.node);
    field("reason", self.reason);
  }
};

/// Answers of a micro-batch that came at the same time.
struct ViewAnswersLine {
  static constexpr const char* kLine = "view_answers";
  std::vector<std::int64_t> images;
  std::vector<std::int32_t> classes;
  std::vector<std::int64_t> exits;      // from 1
  std::vector<std::size_t> lost_views;  // from 1
  Seconds at = 0;                       // since the first micro-batch began

  static void fields(auto& self, auto& field) {
    field("images", self.images);
    field("classes", self.classes);
    field("exits", self.exits);
    field("lost_views", self.lost_views);
    field("at_s", self.at);
  }
};

struct ViewsResult {
  struct View {
    std::size_t view = 0;  // from 1
    std::string node;
    bool is_lost = false;
    std::int64_t micro_batches_without = 0;
    Bytes score_bytes = 0, feature_bytes = 0;
    static void fields(auto& self, auto& field) {
      field("view", self.view);
      field("node", self.node);
      field("lost", self.is_lost);
      field("micro_batches_without", self.micro_batches_without);
      field("score_bytes", self.score_bytes);
      field("feature_bytes", self.feature_bytes);
    }
  };
  /// The rank that computed the part behind the first exit.
  struct Upper {
    std::optional<std::string> node;  // nothing: the coordinator
    std::int64_t micro_batches = 0, images = 0;
    static void fields(auto& self, auto& field) {
      field.or_null("node", self.node);
      field("micro_batches", self.micro_batches);
      field("images", self.images);
    }
  };

  InferResult all;
  std::int64_t lost = 0, duplicated = 0;  // images
  std::int64_t micro_batches = 0;
  std::vector<ExitReport> exits;
  double score_bytes_per_image = 0, feature_bytes_per_image = 0;
  Bytes sample_bytes = 0;  // an image with one byte for each value
  std::vector<View> views;
  std::vector<Upper> upper;

  void leave_out_answers() {
    all.leave_out_answers();
    for (ExitReport& exit : exits) exit.accuracy.reset();
  }
  static void fields(auto& self, auto& field) {
    InferResult::fields(self.all, field);
    field("lost", self.lost);
    field("duplicated", self.duplicated);
    field("micro_batches", self.micro_batches);
    field("exits", self.exits);
    field("score_bytes_per_image", self.score_bytes_per_image);
    field("feature_bytes_per_image", self.feature_bytes_per_image);
    field("sample_bytes", self.sample_bytes);
    field("views", self.views);
    field("upper", self.upper);
  }
};

}  // namespace mangrove::infer

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/infer/report.h"

namespace mangrove::cli {

/// What a server of the Open Inference Protocol has answered to the samples of a data set (docs/json.md).
struct ServerInferenceReport {
  std::string url, server, model, data;
  std::vector<std::string> versions;  // that have answered
  std::string encoding;               // "bytes" or "json"
  std::int64_t images = 0;
  double accuracy = 0, macro_f1 = 0;
  std::int64_t lost = 0;  // images without an answer
  std::int64_t micro_batch = 0, window = 0;
  std::int64_t requests = 0, repeated = 0;
  double images_per_s = 0;
  Seconds seconds = 0;
  infer::Latency latency = {};             // of requests with an answer, with their repetitions
  std::optional<std::string> error;        // of the first request without an answer
  std::optional<std::string> in_place_of;  // the data set that was wanted

  std::string text() const;
  static void fields(auto& self, auto& field) {
    field("url", self.url);
    field("server", self.server);
    field("model", self.model);
    field("versions", self.versions);
    field("data", self.data);
    field("encoding", self.encoding);
    field("images", self.images);
    field("accuracy", self.accuracy);
    field("macro_f1", self.macro_f1);
    field("lost", self.lost);
    field("micro_batch", self.micro_batch);
    field("window", self.window);
    field("requests", self.requests);
    field("repeated", self.repeated);
    field("images_per_s", self.images_per_s);
    field("seconds", self.seconds);
    field("latency", self.latency);
    field("error", self.error);
    field("in_place_of", self.in_place_of);
  }
};

}  // namespace mangrove::cli

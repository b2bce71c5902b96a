#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::cli {

/// What an evaluation came to (docs/json.md); of a network with early exits also an ExitsReport.
struct EvalReport {
  std::string model, data, data_title;
  std::int64_t images = 0;
  double accuracy = 0, macro_f1 = 0;
  std::vector<std::vector<std::int64_t>> confusion;  // row: truth; column: prediction
  std::vector<std::string> classes;
  Seconds seconds = 0;
  double images_per_s = 0;
  std::optional<double> loss;  // not with early exits

  static void fields(auto& self, auto& field) {
    field("model", self.model);
    field("data", self.data);
    field("data_title", self.data_title);
    field("images", self.images);
    field("accuracy", self.accuracy);
    field("macro_f1", self.macro_f1);
    field("confusion", self.confusion);
    field("classes", self.classes);
    field("seconds", self.seconds);
    field("images_per_s", self.images_per_s);
    field("loss", self.loss);
  }
};

}  // namespace mangrove::cli

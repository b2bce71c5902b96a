#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/exits/evaluation.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// A network with early exits beside itself without (docs/json.md).
struct ExitsReport {
  struct Exit {
    std::string output;               // its name
    std::optional<double> threshold;  // not of the last
    std::int64_t samples = 0;         // that left there
    double share = 0;                 // of all
    std::optional<double> accuracy;   // of these; nothing: none left
    static void fields(auto& self, auto& field) {
      field("output", self.output);
      field("threshold", self.threshold);
      field("samples", self.samples);
      field("share", self.share);
      field.or_null("accuracy", self.accuracy);
    }
  };
  struct Whole {
    double accuracy = 0;
    Seconds seconds_per_sample = 0;
    static void fields(auto& self, auto& field) {
      field("accuracy", self.accuracy);
      field("seconds_per_sample", self.seconds_per_sample);
    }
  };
  std::vector<Exit> exits;
  Seconds seconds_per_sample = 0;  // of computing, mean
  double speedup = 0;
  Whole without_exits;

  static void fields(auto& self, auto& field) {
    field("exits", self.exits);
    field("seconds_per_sample", self.seconds_per_sample);
    field("speedup", self.speedup);
    field("without_exits", self.without_exits);
  }
};

ExitsReport exits_report(const Graph& network, const std::vector<float>& thresholds,
                         const exits::ExitEvaluation& evaluation);

/// For people.
std::string exit_rows(const ExitsReport& report);

}  // namespace mangrove::cli

#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/cluster/usage.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {

/// What stands in a result beside that of the strategy: what the coordinator and the command know of the job
/// (docs/json.md).
struct RunFacts {
  std::optional<std::string> model, data;
  std::optional<std::string> input;        // in place of data: images that were pushed
  std::optional<std::string> in_place_of;  // the data set that was wanted
  std::optional<bool> is_embedded;         // the nodes were processes of this machine
  std::optional<std::string> report, model_file, run_dir;
  std::optional<std::vector<cluster::NodeUsage>> nodes;
  std::optional<std::vector<job::Json>> events;
  std::optional<job::Json> head;                                  // the result of the first of two phases
  std::optional<std::map<std::string, std::string>> not_written;  // file -> why
  std::optional<std::string> world, events_file;                  // of a simulated run

  /// Puts what is there into a result.
  void add_to(nlohmann::json& result) const { result.update(nlohmann::json(job::json_of(*this))); }

  static void fields(auto& self, auto& field) {
    field("model", self.model);
    field("data", self.data);
    field("input", self.input);
    field("in_place_of", self.in_place_of);
    field("embedded", self.is_embedded);
    field("report", self.report);
    field("model_file", self.model_file);
    field("run_dir", self.run_dir);
    field("nodes", self.nodes);
    field("events", self.events);
    field("head", self.head);
    field("not_written", self.not_written);
    field("world", self.world);
    field("events_file", self.events_file);
  }
};

}  // namespace mangrove::cli

#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/compiled_parts.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Whether a PLACE command has every operator in exactly one stage, and each stage on at least one of `ranks` ranks.
bool makes_sense(const Command& command, const Graph& graph, int ranks);

/// The stages of a placement that one node has.
/// threads: one at a time.
class HeldStages {
 public:
  /// load: gives stages their weights.
  HeldStages(CompiledStageOptions options, net::Rank rank, LoadParameters load = load_parameters)
      : options_(std::move(options)), rank_(rank), load_(std::move(load)), parts_(options_.micro_batch) {}

  /// Compiles stages that are new here, keeps those that it had before, and frees the others before that. errors: those
  /// of CompiledStage::create and in_order.
  Status place(const Command& command, const Graph& graph);

  std::size_t size() const { return places_.size(); }  // stages of the whole placement
  using Route = google::protobuf::RepeatedField<std::int32_t>;
  /// Whether the route names one holder of each stage.
  bool fits(const Route& route) const;
  /// The stage of this number. Null: another rank has it, or there is none.
  CompiledStage* find(std::size_t stage) const;

 private:
  /// Identifies a stage: by its operators and by the operators before it, which determine the values that it must pass
  /// on.
  static std::string key(const Command& command, const StagePlace& place);

  const CompiledStageOptions options_;
  const net::Rank rank_;
  const LoadParameters load_;
  std::vector<StagePlace> places_;
  CompiledParts parts_;
  std::map<std::size_t, CompiledStage*> by_number_;
};

}  // namespace mangrove::infer

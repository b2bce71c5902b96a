#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "mangrove/cli/reports/report_keeper.h"
#include "mangrove/cli/run_folder.h"
#include "mangrove/cli/settings.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::cli {

/// errors: invalid_argument: keys of transfer learning that do not go together, or two phases with `privacy`; names
/// them.
Status check_transfer(const TrainSettings& settings);

/// Checks, without the data, a network that gets a new head (init_from): whether it can have one, and whether it has
/// the node that is to be the last frozen one (freeze).
/// errors: those of load_model, zoo::with_new_head and split_behind.
Status check_new_head(const TrainSettings& settings);

/// The network that a run begins with: of the zoo, of an ONNX file, or one of these with a new head for the classes of
/// the data set (init_from). errors: those of load_model, zoo::build_model and zoo::with_new_head.
Result<Graph> initial_network(const TrainSettings& settings, const data::Dataset& dataset);

/// Plays one training job of a run to its end, and gives its result.
using PhasePlayer = std::function<Result<nlohmann::json>(const train::TrainJob& job, const RunPhase& phase)>;

/// The job, whose model is initial_network(), from its checkpoint where the settings resume a run. With `freeze`, it
/// becomes two: the first trains what lies behind the frozen part for head_epochs, the second everything for the rest
/// of the epochs. The result is that of the last; "head" in it is the result of the one before.
/// errors: those of the player and of split_behind; not_found, data_loss (files of the run that is resumed).
Result<nlohmann::json> run_training_phases(const TrainSettings& settings, train::TrainJob job, RunFolder& folder,
                                           const PhasePlayer& play);

}  // namespace mangrove::cli

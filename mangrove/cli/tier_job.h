#pragma once

#include <string>

#include "mangrove/base/file.h"
#include "mangrove/cli/settings.h"
#include "mangrove/infer/infer.pb.h"

namespace mangrove::cli {

/// Fills in what the strategy "tiers" needs: the tiers of the file settings.tiers with their networks, those of the
/// zoo built for the data and the tier's labels, and scheduler, policy and goal. Returns how many devices there are.
/// errors: those of load_tiers, of opening the data and the networks; invalid_argument (see infer::check_tiers).
Result<std::int64_t> add_tiers(const InferSettings& settings, const std::string& data, const fs::path& data_folder,
                               infer::InferJob& job);

/// What is wrong with the tier file and its networks whatever the data are. errors: those of load_tiers, load_model and
/// zoo::check_model_name.
Status check_tier_file(const InferSettings& settings);

}  // namespace mangrove::cli

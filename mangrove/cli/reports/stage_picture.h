#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mangrove::cli {

/// A network over devices: a box for each stage with its devices and layers, what is measured beside what was
/// predicted, and what travels between them; below, the same as a table. "" where there are no stages.
///
/// stages: those of a result of `mangrove train` or `mangrove infer`, or of `mangrove plan --json` (docs/json.md).
std::string stage_picture(const nlohmann::json& stages);

}  // namespace mangrove::cli

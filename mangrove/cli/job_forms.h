#pragma once

#include <string>

#include "mangrove/base/file.h"
#include "mangrove/dashboard/api.h"

namespace mangrove::cli {

/// What the dashboard offers of `mangrove train` as a form, for a cluster with this coordinator: the keys that mean
/// something there, and jobs from their values. The jobs open data sets of the folder only, and take networks of the
/// zoo, no files: the values come from whoever has a token.
dashboard::JobForms job_forms(const std::string& coordinator, const fs::path& data_folder);

}  // namespace mangrove::cli

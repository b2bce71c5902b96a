#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/cli/settings.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// The name of the data set to use: `data` if its files are there or can be downloaded, else, with one line on standard
/// error, `data_fallback` if one is given. before_download: finds what is wrong whatever the data are, where they would
/// have to be downloaded, which may take long. errors: not_found (unknown name), unavailable (neither here nor to be
/// downloaded, and no fallback); those of before_download.
Result<std::string> ensure_data(const DataSettings& settings, std::stop_token stop,
                                const std::function<Status()>& before_download = {});

/// The data set that was wanted, where the fallback was used; for the result of a job (`in_place_of`).
std::optional<std::string> in_place_of(const DataSettings& settings, const std::string& used);

/// The name of the data set to use with a trained network: `data` as above, or where that is empty what the network was
/// trained on. errors: those of ensure_data; invalid_argument (the network does not say it).
Result<std::string> data_for(const Graph& graph, const std::string& data, const std::string& data_dir,
                             std::stop_token stop);

/// Downloads a data set into the folder, with a progress line on standard error.
Status download_data(const std::string& name, const std::string& data_dir, std::stop_token stop);

}  // namespace mangrove::cli

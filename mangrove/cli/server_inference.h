#pragma once

#include <stop_token>

#include "mangrove/base/result.h"
#include "mangrove/cli/reports/server_inference_report.h"
#include "mangrove/cli/server_access.h"
#include "mangrove/cli/settings.h"

namespace mangrove::cli {

/// Sends the test samples of a data set to a server of the Open Inference Protocol, which may be of another program,
/// and compares the answers with their labels. Samples are prepared as those were that the network was trained on,
/// where the model's configuration says it. Of the settings, data, identity, insecure, micro_batch, window and limit
/// count. model: its name; "": the only one.
/// errors: those of server_access(), OpenInferenceClient and opening the data; invalid_argument (the model is no
/// classifier of such samples). A request that gets no answer is counted, and does not end the run, unless all do.
Result<ServerInferenceReport> infer_on_server(const InferSettings& settings, const ServerFlags& server,
                                              const std::string& model, const OutputOptions& output,
                                              const std::stop_token& stop);

}  // namespace mangrove::cli

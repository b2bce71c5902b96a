#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/keys.h"
#include "mangrove/base/units.h"

namespace mangrove::serve {

/// How a model is served.
struct ModelOptions {
  std::string file = {};         // an ONNX file
  std::string input_shape = {};  // of inputs with open dimensions, as the key of other commands
  std::string labels = {};       // text file, a class name on each line; "": the names in the network's metadata
  std::string backend = {};      // "": the fastest of this build
  std::int64_t threads = 1;
  std::int64_t max_batch = 16;      // samples that are computed together; 1: each alone
  Seconds max_wait = 0.002;         // that a request waits for others; 0 where clients come one at a time
  std::int64_t max_queue = 1000;    // requests that wait
  Bytes queue_bytes = 256'000'000;  // inputs and outputs of all requests that are not answered yet
  std::int64_t instances = 1;       // batches that are computed at once; they share the weights
  Bytes memory = 0;                 // that weights and activations may take; 0: no limit
};

/// A key for each option but `file`. The options must outlive the keys.
Keys model_keys(ModelOptions& options);

}  // namespace mangrove::serve

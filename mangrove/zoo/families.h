#pragma once

#include "mangrove/zoo/zoo.h"

/// One function per model; zoo.cc lists them.
namespace mangrove::zoo {

Result<Graph> build_lenet(const ModelOptions& options);
Result<Graph> build_mlp(const ModelOptions& options);

}  // namespace mangrove::zoo

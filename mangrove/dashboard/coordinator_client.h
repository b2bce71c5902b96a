#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "mangrove/base/result.h"
#include "mangrove/cluster/client.h"

namespace mangrove::dashboard {

/// Connects to the coordinator that the dashboard shows. errors: those of cluster::Client::connect().
using Connect = std::function<Result<std::unique_ptr<cluster::Client>>(const std::stop_token& stop)>;

}  // namespace mangrove::dashboard

#pragma once

#include "mangrove/compress/method.h"

/// The rows of the table, one file each.
namespace mangrove::compress::rows {

MethodRow channels();
MethodRow low_rank();
MethodRow prune();
MethodRow share();
MethodRow train();

}  // namespace mangrove::compress::rows

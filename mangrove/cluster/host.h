#pragma once

#include <string>

#include "mangrove/base/units.h"

namespace mangrove::cluster {

/// The machine under this process.
struct Host {
  std::string name;      // as the machine calls itself
  std::string identity;  // differs between machines, and between two starts of one: nodes with the same share its cores
  int cores = 1;         // that this process may run on
  Bytes memory = 0;      // that this process may use
};

Host describe_host();

}  // namespace mangrove::cluster

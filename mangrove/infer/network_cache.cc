#include "mangrove/infer/network_cache.h"

#include "mangrove/base/log.h"
#include "mangrove/data/sha256.h"

namespace mangrove::infer {

std::optional<std::string> NetworkCache::find(const std::string& sha256) const {
  std::optional<std::string> network = files_.find(sha256);
  if (!network || data::sha256(*network) == sha256) return network;
  log_warn("a kept network is damaged, and is fetched again", {{"file", files_.path(sha256).string()}});
  files_.remove(sha256);
  return std::nullopt;
}

}  // namespace mangrove::infer

#include "mangrove/infer/network_cache.h"

#include "mangrove/base/log.h"
#include "mangrove/data/sha256.h"

namespace mangrove::infer {

std::optional<std::string> NetworkCache::find(const std::string& sha256) const {
  std::optional<std::string> content = files_.find(sha256);
  if (!content || data::sha256(*content) == sha256) return content;
  log_warn("a kept file is damaged, and is fetched again", {{"file", files_.path(sha256).string()}});
  files_.remove(sha256);
  return std::nullopt;
}

}  // namespace mangrove::infer

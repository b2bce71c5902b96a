#include "mangrove/job/event.h"

#include <fmt/format.h>

namespace mangrove::job {

std::string listed(const std::vector<std::string>& items) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == kMost) return list + fmt::format(" and {} more", items.size() - kMost);
    list += (i == 0 ? "" : ", ") + items[i];
  }
  return list;
}

std::string because(const std::string& reason) {
  return reason.empty() ? "" : ": " + reason;
}

std::string StageMoved::sentence() const {
  return fmt::format("stage {} moved from {} to {}", stage + 1, from, to);
}

}  // namespace mangrove::job

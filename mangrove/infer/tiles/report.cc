#include "mangrove/infer/tiles/report.h"

#include <fmt/format.h>

namespace mangrove::infer {

std::string Retiled::sentence() const {
  std::string text;
  for (const std::vector<std::string>& team : teams) text += (text.empty() ? "" : "; ") + job::listed(team);
  const char* reason = why == kLost      ? "a node that had tiles is gone"
                       : why == kOverdue ? "no answer came in time, and no node was to blame"
                                         : "nodes have become slower or faster";
  return fmt::format("{}: the network is divided anew among {}", reason, text);
}

}  // namespace mangrove::infer

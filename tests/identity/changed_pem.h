#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace mangrove::identity {

/// Calls `visit` with the PEM text again and again, each time with another one of its characters changed. Every third
/// character between the first line and the last has its turn.
inline void change_each(const std::string& pem, const std::function<void(const std::string& changed)>& visit) {
  const std::size_t first = pem.find('\n') + 1, last = pem.rfind("\n-----END");
  for (std::size_t at = first; at < last - 4; at += 3) {
    if (pem[at] == '\n') continue;
    std::string changed = pem;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    visit(changed);
  }
}

}  // namespace mangrove::identity

#include "mangrove/engine/backend.h"

#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/engine/portable/portable_backend.h"
#ifdef MANGROVE_WITH_ONEDNN
#include "mangrove/engine/onednn/onednn_backend.h"
#endif

namespace mangrove {
namespace {

struct BackendEntry {
  std::string_view name;
  std::shared_ptr<const Backend> (*make)();
};

// The whole list, the fastest first.
constexpr BackendEntry kBackends[] = {
#ifdef MANGROVE_WITH_ONEDNN
    {.name = "onednn", .make = &make_onednn_backend},
#endif
    {.name = "portable", .make = &make_portable_backend},
};

}  // namespace

Result<std::shared_ptr<const Backend>> find_backend(std::string_view name) {
  for (const BackendEntry& entry : kBackends) {
    if (entry.name == name) return entry.make();
  }
  return make_error(Code::invalid_argument,
                    "unknown backend '" + std::string(name) + "'" + suggestion(name, backend_names()));
}

std::span<const std::string> backend_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const BackendEntry& entry : kBackends) list.emplace_back(entry.name);
    return list;
  }();
  return names;
}

}  // namespace mangrove

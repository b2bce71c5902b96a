#include "mangrove/engine/backend.h"

#include <cstddef>
#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/base/table.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/engine/portable/portable_backend.h"
#include "mangrove/engine/simd/simd_backend.h"
#ifdef MANGROVE_WITH_ONEDNN
#include "mangrove/engine/onednn/onednn_backend.h"
#endif

namespace mangrove {
namespace {

struct BackendEntry {
  std::string_view name;
  std::shared_ptr<const Backend> (*make)();
};

#ifdef MANGROVE_WITH_ONEDNN
constexpr auto kMakeOneDnn = &make_onednn_backend;
#else
constexpr std::nullptr_t kMakeOneDnn = nullptr;
#endif

// The whole list, the fastest first. Without a function: this build is without it.
constexpr BackendEntry kBackends[] = {
    {.name = "onednn", .make = kMakeOneDnn},
    {.name = "simd", .make = &make_simd_backend},
    {.name = "portable", .make = &make_portable_backend},
};

}  // namespace

Result<std::shared_ptr<const Backend>> find_backend(std::string_view name) {
  MG_TRY(const BackendEntry* entry, find_row(kBackends, name, "unknown backend", Code::invalid_argument));
  if (entry->make == nullptr)
    return make_error(Code::invalid_argument, "this build is without the backend '" + std::string(name) + "'; it has " +
                                                  join_words(backend_names()));
  return entry->make();
}

std::span<const std::string> backend_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const BackendEntry& entry : kBackends)
      if (entry.make != nullptr) found.emplace_back(entry.name);
    return found;
  }();
  return names;
}

std::string backend_help() {
  return "kernels: " + join_words(known_backends()) + "; default: the fastest of this build";
}

std::span<const std::string> known_backends() {
  static const std::vector<std::string> names = row_names(kBackends);
  return names;
}

}  // namespace mangrove

#include "mangrove/engine/backend.h"

#include <vector>

#include "mangrove/base/table.h"
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

// The whole list, the fastest first.
constexpr BackendEntry kBackends[] = {
#ifdef MANGROVE_WITH_ONEDNN
    {.name = "onednn", .make = &make_onednn_backend},
#endif
    {.name = "simd", .make = &make_simd_backend},
    {.name = "portable", .make = &make_portable_backend},
};

}  // namespace

Result<std::shared_ptr<const Backend>> find_backend(std::string_view name) {
  MG_TRY(const BackendEntry* entry, find_row(kBackends, name, "unknown backend", Code::invalid_argument));
  return entry->make();
}

std::span<const std::string> backend_names() {
  static const std::vector<std::string> names = row_names(kBackends);
  return names;
}

}  // namespace mangrove

#pragma once

#include <memory>

#include "mangrove/engine/backend.h"

namespace mangrove {

/// Kernels of oneDNN on this machine's CPU, f32 only; every other type or case is left to the portable backend.
/// Values lie in the blocked formats that oneDNN chooses for its convolutions and inner products.
/// threads: the backend may be used by any; each Bound step by one at a time.
std::shared_ptr<const Backend> make_onednn_backend();

}  // namespace mangrove

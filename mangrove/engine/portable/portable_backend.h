#pragma once

#include <memory>

#include "mangrove/engine/backend.h"

namespace mangrove {

/// Plain loops for every operator, forward and backward, in f32 and f64; all values lie plain. The reference that every
/// other backend is tested against, and what a program takes where its own backend has no kernel.
std::shared_ptr<const Backend> make_portable_backend();

}  // namespace mangrove

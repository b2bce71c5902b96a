#pragma once

#include "mangrove/engine/backend.h"

namespace mangrove {

/// A backend for tests: its values lie in reverse order, with one unused element behind them. It has the elementwise
/// operators (the activations, and Add without broadcasting), borrowed from the portable backend, and no others, so a
/// program of it needs reorders wherever one of its nodes meets a portable one.
std::shared_ptr<const Backend> make_reversed_backend();

}  // namespace mangrove

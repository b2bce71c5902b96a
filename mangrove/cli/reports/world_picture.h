#pragma once

#include <string>

#include "mangrove/sim/world.h"

namespace mangrove::cli {

/// The devices of a virtual world, their links and regions, as a picture. Of many devices, those of a kind in a region
/// are one box; at most 60 boxes are drawn.
std::string world_picture(const sim::World& world);

/// The world as a page of its own.
std::string world_page(const std::string& title, const sim::World& world);

}  // namespace mangrove::cli

#pragma once

#include <string>

#include "mangrove/base/result.h"

namespace mangrove::cluster {

/// The code field of RoleEnded and Ended: 0, or a Code. A number that is no Code, from a hostile or newer peer, is read
/// as internal. Messages are cut short, on both sides.
int wire_code(const Status& status);
std::string wire_message(const Status& status);
Status status_from_wire(int code, const std::string& message);

}  // namespace mangrove::cluster

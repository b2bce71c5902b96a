#pragma once

#include <string>

#include "mangrove/sensors/link.h"

namespace mangrove::sensors {

/// MQTT 3.1.1 and 5 by libmosquitto. source: OASIS, MQTT Version 5.0, 2019, and MQTT Version 3.1.1, 2014.
LinkKind mqtt_links();

/// Whether these urls of mqtt lead to the same broker, as far as names and ports tell. Those that are none lead
/// nowhere.
bool is_same_broker(const std::string& a, const std::string& b);

}  // namespace mangrove::sensors

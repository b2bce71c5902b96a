#pragma once

#include "mangrove/sensors/link.h"

namespace mangrove::sensors {

/// MQTT 3.1.1 and 5 by libmosquitto. source: OASIS, MQTT Version 5.0, 2019, and MQTT Version 3.1.1, 2014.
LinkKind mqtt_links();

}  // namespace mangrove::sensors

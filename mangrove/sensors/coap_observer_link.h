#pragma once

#include "mangrove/sensors/link.h"

namespace mangrove::sensors {

/// Observes a CoAP resource of a sensor. source: RFC 7641, Observing Resources in CoAP.
LinkKind coap_observer_links();

}  // namespace mangrove::sensors

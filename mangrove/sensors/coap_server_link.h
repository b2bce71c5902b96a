#pragma once

#include "mangrove/sensors/link.h"

namespace mangrove::sensors {

/// A CoAP resource that takes samples by PUT and POST and answers each with what the network says.
/// source: RFC 7252, The Constrained Application Protocol; RFC 7959 (blocks); RFC 7925 (DTLS with a shared key).
LinkKind coap_server_links();

}  // namespace mangrove::sensors

#include "mangrove/sensors/link_kinds.h"

#include <array>

#include "mangrove/base/table.h"
#include "mangrove/sensors/coap_observer_link.h"
#include "mangrove/sensors/coap_server_link.h"
#include "mangrove/sensors/mqtt_link.h"

namespace mangrove::sensors {

std::span<const LinkKind> link_kinds() {
  static const std::array kKinds = {mqtt_links(), coap_server_links(), coap_observer_links()};
  return kKinds;
}

Result<const LinkKind*> find_link_kind(std::string_view name) {
  return find_row(link_kinds(), name, "unknown kind");
}

}  // namespace mangrove::sensors

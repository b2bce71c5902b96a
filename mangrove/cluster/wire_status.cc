#include "mangrove/cluster/wire_status.h"

#include "mangrove/base/printable.h"

namespace mangrove::cluster {

int wire_code(const Status& status) {
  return status.ok() ? 0 : static_cast<int>(status.code());
}

std::string wire_message(const Status& status) {
  return status.ok() ? std::string() : cut_short(status.error().message);
}

Status status_from_wire(int code, const std::string& message) {
  constexpr int kUnknown = 2;  // gRPC's, which Code leaves out
  if (code == 0) return {};
  const bool known =
      code >= static_cast<int>(Code::cancelled) && code <= static_cast<int>(Code::data_loss) && code != kUnknown;
  return make_error(known ? static_cast<Code>(code) : Code::internal, cut_short(message));
}

}  // namespace mangrove::cluster

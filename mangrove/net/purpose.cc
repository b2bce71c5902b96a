#include "mangrove/net/endpoint.h"

namespace mangrove::net {

const char* purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::control:
      return "control";
    case Purpose::parameters:
      return "parameters";
    case Purpose::gradients:
      return "gradients";
    case Purpose::activations:
      return "activations";
    case Purpose::data:
      return "data";
  }
  return "unknown";
}

}  // namespace mangrove::net

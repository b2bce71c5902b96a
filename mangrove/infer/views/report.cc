#include "mangrove/infer/views/report.h"

namespace mangrove::infer {

std::string ViewLost::sentence() const {
  return "view " + std::to_string(view) + " of " + node + " is lost" + job::because(reason);
}

}  // namespace mangrove::infer

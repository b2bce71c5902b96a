#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> movement() {
  return {};
}

}  // namespace mangrove::samples

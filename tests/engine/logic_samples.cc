#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> logic() {
  return {};
}

}  // namespace mangrove::samples

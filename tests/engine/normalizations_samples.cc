#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> normalizations() {
  return {};
}

}  // namespace mangrove::samples

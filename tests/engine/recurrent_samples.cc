#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> recurrent() {
  return {};
}

}  // namespace mangrove::samples

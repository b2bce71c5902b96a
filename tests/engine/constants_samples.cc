#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> constants() {
  return {};
}

}  // namespace mangrove::samples

#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> quantization() {
  return {};
}

}  // namespace mangrove::samples

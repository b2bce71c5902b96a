#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> reductions() {
  return {};
}

}  // namespace mangrove::samples

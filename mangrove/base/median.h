#pragma once

#include <vector>

namespace mangrove {

/// The median: as many values are below it as above it. Of an even number of values it is the lower one of the two in
/// the middle, so that the median of measurements is one of them. 0 of none.
double median(std::vector<double> values);

}  // namespace mangrove

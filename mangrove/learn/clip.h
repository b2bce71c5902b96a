#pragma once

#include <span>

namespace mangrove::learn {

/// What a vector of which so much is the sum of squares is multiplied with, so that its Euclidean norm is at most
/// `most`: at most 1; 0 where the sum is not a number or infinite, so that whatever a record says it adds no more than
/// that.
double clip_factor(double sum_of_squares, double most);

double sum_of_squares(std::span<const float> values);

}  // namespace mangrove::learn

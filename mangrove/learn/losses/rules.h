#pragma once

#include "mangrove/learn/loss.h"

/// The loss of one row, one file each; see LossRow::row.
namespace mangrove::learn::rules {

double softmax_cross_entropy(std::span<const float> x, std::span<const float> t, const LossOptions& options,
                             double scale, std::span<float> gradient);
double binary_cross_entropy(std::span<const float> x, std::span<const float> t, const LossOptions& options,
                            double scale, std::span<float> gradient);
double mse(std::span<const float> x, std::span<const float> t, const LossOptions& options, double scale,
           std::span<float> gradient);
double distillation(std::span<const float> x, std::span<const float> t, const LossOptions& options, double scale,
                    std::span<float> gradient);

}  // namespace mangrove::learn::rules

#pragma once

#include <memory>
#include <span>
#include <string>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// What the class of all other samples is called.
constexpr const char* kRestClass = "rest";

/// The samples of a data set with the classes above its own for labels. errors: invalid_argument (it has no hierarchy).
Result<std::shared_ptr<const Dataset>> coarse_classes(std::shared_ptr<const Dataset> dataset);

/// The samples of a data set with these of its classes for labels, in this order, and behind them, unless these are
/// all, kRestClass for all others: with one class, that class against the rest. Coarse labels are lost.
/// names_nearest: whether the error about an unknown class names the nearest known one, which quotes the data.
/// errors: invalid_argument (no class is given, one of them is unknown, or one is given twice).
Result<std::shared_ptr<const Dataset>> some_classes(std::shared_ptr<const Dataset> dataset,
                                                    std::span<const std::string> classes, bool names_nearest = true);

}  // namespace mangrove::data

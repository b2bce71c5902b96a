#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mangrove::cli {

/// (x, y) in order of x.
using Curve = std::vector<std::pair<double, double>>;

/// A line chart of up to two curves, as an <svg> whose lines have the classes "a" and "b"; x is the epoch. Of a long
/// curve the means of at most 300 runs of points are drawn; points that are no numbers are left out.
std::string svg_chart(const std::string& unit, const Curve& first, const Curve& second);

/// About `count` round numbers (1, 2 or 5 times a power of ten apart) that span [low, high].
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace mangrove::cli

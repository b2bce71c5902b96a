#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mangrove::cli {

/// (x, y) in order of x.
using Curve = std::vector<std::pair<double, double>>;

struct Series {
  Curve curve;
  std::string style;   // class of its line
  std::string name{};  // shown where the pointer rests on it; "": nothing is
};

/// The style of the series with this number; ten styles take turns.
std::string series_style(std::size_t number);

/// A line chart as an <svg>; `x_name` is what x counts, `unit` that of y. Of a long curve the means of at most 300 runs
/// of points are drawn; points that are no numbers are left out.
std::string svg_chart(const std::string& x_name, const std::string& unit, const std::vector<Series>& series);

/// About `count` round numbers (1, 2 or 5 times a power of ten apart) that span [low, high].
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace mangrove::cli

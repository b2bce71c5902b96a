#include "mangrove/cli/reports/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/html.h"

namespace mangrove::cli {
namespace {

constexpr double kWidth = 480, kHeight = 220, kLeft = 48, kRight = 8, kTop = 18, kBottom = 26;
constexpr std::size_t kMostPoints = 300;
constexpr std::size_t kMostDots = 60;  // more points are a line alone

/// The curve without what is no number, thinned to means of neighbours.
Curve drawable(const Curve& curve) {
  Curve finite;
  for (const auto& [x, y] : curve)
    if (std::isfinite(x) && std::isfinite(y)) finite.emplace_back(x, y);
  const std::size_t run = (finite.size() + kMostPoints - 1) / kMostPoints;
  if (run <= 1) return finite;
  Curve thin;
  for (std::size_t first = 0; first < finite.size(); first += run) {
    const std::size_t last = std::min(first + run, finite.size());
    double x = 0, y = 0;
    for (std::size_t i = first; i < last; ++i) {
      x += finite[i].first;
      y += finite[i].second;
    }
    const auto count = static_cast<double>(last - first);
    thin.emplace_back(x / count, y / count);
  }
  return thin;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double size() const { return high > low ? high - low : 1; }
};

/// Without exponents up to where no axis has room.
std::string tick_text(double value) {
  const bool is_large = std::abs(value) >= 1e4 && std::abs(value) < 1e10;
  return is_large ? format_count(std::llround(value)) : fmt::format("{:.4g}", value);
}

class Chart {
 public:
  Chart(Range x, Range y) : x_(x), y_(y) {}

  double across(double x) const { return kLeft + (x - x_.low) / x_.size() * (kWidth - kLeft - kRight); }
  double down(double y) const { return kHeight - kBottom - (y - y_.low) / y_.size() * (kHeight - kTop - kBottom); }

  std::string axes(const std::string& x_name, const std::string& unit) const {
    std::string svg;
    for (const double y : round_ticks(y_.low, y_.high, 5)) {
      if (y < y_.low || y > y_.high) continue;
      svg += fmt::format(
          R"(<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>)",
          kLeft, kWidth - kRight, down(y), kLeft - 6, down(y) + 4, tick_text(y));
    }
    for (const double x : round_ticks(x_.low, x_.high, 6)) {
      if (x < x_.low || x > x_.high) continue;
      svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", across(x), kHeight - 10,
                         tick_text(x));
    }
    svg += fmt::format(R"(<text x="{}" y="{}" text-anchor="end">{}</text>)", kWidth - kRight, kHeight + 4,
                       escaped(x_name));
    return svg + fmt::format(R"(<text x="{}" y="{}">{}</text>)", kLeft + 4, kTop - 8, escaped(unit));
  }

  std::string line(const Series& series, bool dots) const {
    if (series.curve.empty()) return {};
    std::string svg = fmt::format(R"(<polyline class="{}" points=")", series.style);
    for (const auto& [x, y] : series.curve) svg += fmt::format("{:.1f},{:.1f} ", across(x), down(y));
    svg += series.name.empty() ? "\"/>" : fmt::format("\"><title>{}</title></polyline>", escaped(series.name));
    for (const auto& [x, y] : series.curve)
      if (dots)
        svg += fmt::format(R"(<circle class="{}" r="2.5" cx="{:.1f}" cy="{:.1f}"/>)", series.style, across(x), down(y));
    return svg;
  }

 private:
  Range x_, y_;
};

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high > low ? high - low : 1) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1);
  std::vector<double> ticks;
  for (double k = std::floor(low / step); k * step <= high + step / 2 && ticks.size() < 50; ++k)
    ticks.push_back(k * step);
  return ticks;
}

std::string series_style(std::size_t number) {
  return fmt::format("n{}", number % 10);
}

std::string svg_chart(const std::string& x_name, const std::string& unit, const std::vector<Series>& series) {
  std::vector<Series> drawn;
  Range x, y;
  for (const Series& given : series) {
    const Curve curve = drawable(given.curve);
    if (curve.empty()) continue;
    for (const auto& [at, value] : curve) {
      x.add(at);
      y.add(value);
    }
    drawn.push_back({curve, given.style, given.name});
  }
  if (drawn.empty()) return "<p>no numbers to draw</p>";
  x.add(0);
  if (y.low > 0 && (y.low < 0.5 * y.high || y.low == y.high)) y.add(0);
  const Chart chart(x, y);
  std::string svg =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img">)", kWidth, kHeight + 8) + chart.axes(x_name, unit);
  for (const Series& one : drawn) {
    const bool few = one.curve.size() < kMostDots && drawn.size() <= 2;
    svg += chart.line(one, few || one.curve.size() == 1);
  }
  return svg + "</svg>";
}

}  // namespace mangrove::cli

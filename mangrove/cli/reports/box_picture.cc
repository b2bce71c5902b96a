#include "mangrove/cli/reports/box_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mangrove/cli/reports/html.h"

namespace mangrove::cli {
namespace {

constexpr double kPictureWidth = 980;
constexpr double kLine = 16, kBarLine = 22, kBarHeight = 5, kPadding = 9;
constexpr double kCharacter = 6.1, kBold = 7;  // widths of a letter, with some room
constexpr double kMostBox = 300;

double width_of_bar(double share, double whole) {
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * whole : 0;
}

std::string cut(const std::string& text, double width, double character = kCharacter) {
  return escaped(shortened(text, static_cast<std::size_t>(std::max(1.0, width / character))));
}

std::string text_at(double x, double y, const std::string& html, const char* attributes = "") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}"{}>{}</text>)", x, y, attributes, html);
}

std::string bar_at(const Box::Bar& bar, double x, double y, double whole) {
  return fmt::format(R"(<rect class="rail" x="{0:.1f}" y="{1:.1f}" width="{2:.1f}" height="{3}"/>)"
                     R"(<rect class="{4}" x="{0:.1f}" y="{1:.1f}" width="{5:.1f}" height="{3}"/>)",
                     x, y, whole, kBarHeight, bar.style, width_of_bar(bar.share, whole));
}

double height_of(const Box& box) {
  return 2 * kPadding + kLine * static_cast<double>(1 + box.lines.size()) +
         kBarLine * static_cast<double>(box.bars.size());
}

/// Of the boxes of a row.
double height_of(const std::vector<Box>& boxes, std::size_t first, std::size_t last) {
  double most = 0;
  for (std::size_t i = first; i < last; ++i) most = std::max(most, height_of(boxes[i]));
  return most;
}

std::string draw(const Box& box, double x, double y, double width, double height) {
  std::string svg = "<g>";
  if (!box.tooltip.empty()) svg += "<title>" + escaped(box.tooltip) + "</title>";
  svg += fmt::format(R"(<rect class="box {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="6"/>)", box.style,
                     x, y, width, height);
  const double left = x + kPadding, room = width - 2 * kPadding;
  double at = y + kPadding + 11;
  svg += text_at(left, at, cut(box.title, room, kBold), R"( class="name")");
  for (const std::string& line : box.lines) {
    at += kLine;
    svg += text_at(left, at, cut(line, room));
  }
  for (const Box::Bar& bar : box.bars) {
    at += kLine;
    svg += text_at(left, at, cut(bar.text, room)) + bar_at(bar, left, at + 4, room);
    at += kBarLine - kLine;
  }
  return svg + "</g>";
}

std::string line_between(double x1, double y1, double x2, double y2) {
  return fmt::format(R"(<line class="way" stroke="currentColor" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", x1,
                     y1, x2, y2);
}

std::string tip_to_right(double x, double y) {
  return fmt::format(R"(<polygon class="tip" points="{0:.1f},{1:.1f} {2:.1f},{3:.1f} {2:.1f},{4:.1f}"/>)", x, y, x - 7,
                     y - 4, y + 4);
}

std::string tip_down(double x, double y) {
  return fmt::format(R"(<polygon class="tip" points="{0:.1f},{1:.1f} {2:.1f},{3:.1f} {4:.1f},{3:.1f}"/>)", x, y, x - 4,
                     y - 7, x + 4);
}

Drawing drawing_of(const std::string& label, double height, std::string content) {
  return {.label = label, .width = kPictureWidth, .height = height + 4, .content = std::move(content)};
}

/// Columns of the picture.
struct Grid {
  std::size_t columns;
  double box, gap;

  Grid(std::size_t boxes, std::size_t most, double between) : columns(std::clamp<std::size_t>(boxes, 1, most)) {
    gap = between;
    const auto count = static_cast<double>(columns);
    box = std::min(kMostBox, (kPictureWidth - gap * (count - 1) - 4) / count);
  }
  double left(std::size_t column) const { return 2 + static_cast<double>(column) * (box + gap); }
  double middle(std::size_t column) const { return left(column) + box / 2; }
};

}  // namespace

Drawing chain_drawing(const std::string& label, const std::vector<Box>& boxes) {
  const Grid grid(boxes.size(), 4, 84);
  constexpr double kBetweenRows = 40;
  std::string svg;
  double top = 2;
  for (std::size_t first = 0; first < boxes.size(); first += grid.columns) {
    const std::size_t last = std::min(first + grid.columns, boxes.size());
    const double height = height_of(boxes, first, last);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t column = i - first;
      const double right = grid.left(column) + grid.box, y = top + height / 2;
      svg += draw(boxes[i], grid.left(column), top, grid.box, height);
      if (i + 1 == boxes.size()) continue;
      if (i + 1 < last) {
        const double next = right + grid.gap;
        svg += line_between(right + 4, y, next - 8, y) + tip_to_right(next - 3, y);
        double line =
            y - 6 - kLine * static_cast<double>(boxes[i].way.size() - std::min<std::size_t>(1, boxes[i].way.size()));
        for (const std::string& text : boxes[i].way) {
          svg += text_at(right + grid.gap / 2, line, cut(text, grid.gap - 4), R"( text-anchor="middle")");
          line += kLine;
        }
      } else {  // on to the next row
        const double from = grid.middle(column), to = grid.middle(0), between = top + height + kBetweenRows / 2;
        svg += line_between(from, top + height + 3, from, between) + line_between(from, between, to, between) +
               line_between(to, between, to, top + height + kBetweenRows - 8) +
               tip_down(to, top + height + kBetweenRows - 3);
        std::string all;
        for (const std::string& text : boxes[i].way) all += (all.empty() ? "" : ", ") + text;
        svg += text_at((from + to) / 2, between - 5, cut(all, kPictureWidth / 2), R"( text-anchor="middle")");
      }
    }
    top += height + (last < boxes.size() ? kBetweenRows : 0);
  }
  return drawing_of(label, top, svg);
}

std::string chain_picture(const std::string& label, const std::vector<Box>& boxes) {
  return svg_in_page(chain_drawing(label, boxes));
}

Drawing bus_drawing(const std::string& label, const std::string& bus, const std::vector<Box>& boxes) {
  const Grid grid(boxes.size(), 5, 16);
  constexpr double kBusRoom = 26;
  std::string svg;
  double top = 2;
  for (std::size_t first = 0; first < boxes.size(); first += grid.columns) {
    const std::size_t last = std::min(first + grid.columns, boxes.size());
    std::size_t ways = 0;
    for (std::size_t i = first; i < last; ++i) ways = std::max(ways, boxes[i].way.size());
    const double height = height_of(boxes, first, last), drop = 14 + kLine * static_cast<double>(ways);
    const double y = top + kBusRoom - 6;
    if (first == 0) svg += text_at(2, y - 8, cut(bus, kPictureWidth), R"( class="name")");
    svg += line_between(2, y, grid.left(last - first - 1) + grid.box, y);
    for (std::size_t i = first; i < last; ++i) {
      const double x = grid.middle(i - first);
      svg += line_between(x, y, x, y + drop);
      double line = y + kLine;
      for (const std::string& text : boxes[i].way) {
        svg += text_at(x + 6, line, cut(text, grid.box / 2 + grid.gap - 8));
        line += kLine;
      }
      svg += draw(boxes[i], grid.left(i - first), y + drop, grid.box, height);
    }
    top = y + drop + height + (last < boxes.size() ? 12 : 0);
  }
  return drawing_of(label, top, svg);
}

std::string bus_picture(const std::string& label, const std::string& bus, const std::vector<Box>& boxes) {
  return svg_in_page(bus_drawing(label, bus, boxes));
}

std::string share_rows(const std::string& label, const std::vector<ShareRow>& rows) {
  constexpr double kLabel = 180, kText = 260;
  const double whole = kPictureWidth - kLabel - kText;
  std::string svg;
  double top = 0;
  for (const ShareRow& row : rows) {
    svg += text_at(kLabel - 8, top + 12, cut(row.name, kLabel - 8), R"( text-anchor="end")");
    for (const Box::Bar& bar : row.bars) {
      svg += bar_at(bar, kLabel, top + 6, whole) + text_at(kLabel + whole + 8, top + 12, cut(bar.text, kText - 8));
      top += kLine;
    }
    top += 4;
  }
  return svg_in_page(drawing_of(label, top, svg));
}

}  // namespace mangrove::cli

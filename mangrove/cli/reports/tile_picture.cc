#include "mangrove/cli/reports/tile_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/svg_chart.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostTeams = 16, kMostBlocks = 64, kMostTiles = 64;
constexpr std::size_t kLongestShown = 60;
constexpr double kSide = 132, kGap = 26, kLine = 15;
constexpr std::size_t kPlanesInARow = 6;

struct DrawnTile {
  std::string node;
  std::vector<std::int64_t> region;  // [top, left, bottom, right]; none: all of the plane
  std::optional<Seconds> busy;       // measured
  Seconds predicted_busy = 0;
};
struct DrawnBlock {
  std::string first, last;  // operators
  std::size_t operators = 0;
  std::vector<DrawnTile> tiles;
};
struct DrawnTeam {
  std::string source;
  double work = 1;
  Bytes sent = 0;
  std::vector<DrawnBlock> blocks;
};

std::vector<DrawnTeam> teams_of(const std::vector<infer::TileTeamReport>& reports) {
  std::vector<DrawnTeam> teams;
  for (const infer::TileTeamReport& report : reports) {
    DrawnTeam& team = teams.emplace_back(DrawnTeam{report.source, report.work, report.sent_bytes, {}});
    for (const infer::TileBlockReport& from : report.blocks) {
      DrawnBlock& block = team.blocks.emplace_back(DrawnBlock{from.first, from.last, from.operators, {}});
      for (const infer::TileBlockReport::Tile& tile : from.tiles)
        block.tiles.push_back({tile.node, tile.region, tile.busy, tile.predicted_busy});
    }
  }
  return teams;
}

std::vector<DrawnTeam> teams_of(const std::vector<TilePlanReport::Team>& reports) {
  std::vector<DrawnTeam> teams;
  for (const TilePlanReport::Team& report : reports) {
    DrawnTeam& team = teams.emplace_back(DrawnTeam{report.source, report.work, report.sent_bytes, {}});
    for (const TilePlanReport::Block& from : report.blocks) {
      DrawnBlock& block = team.blocks.emplace_back(DrawnBlock{from.first, from.last, from.operators, {}});
      for (const TilePlanReport::Tile& tile : from.tiles)
        block.tiles.push_back({tile.device, tile.region, std::nullopt, tile.busy});
    }
  }
  return teams;
}

/// The number of each node, in the order in which they have tiles: its colour.
using Colours = std::map<std::string, std::size_t>;

std::string shown(const std::string& name) {
  return shortened(name, kLongestShown);
}

bool is_region(const std::vector<std::int64_t>& region) {
  return region.size() == 4 && region[0] >= 0 && region[1] >= 0 && region[2] > region[0] && region[3] > region[1];
}

std::string time_text(const DrawnTile& tile) {
  const std::string measured = tile.busy ? format_seconds(*tile.busy) + " a micro-batch, " : "";
  return measured + format_seconds(tile.predicted_busy) + " predicted";
}

std::string rectangle(const DrawnTile& tile, std::size_t colour, double x, double y, double width, double height) {
  return fmt::format(R"(<g><title>{}: {}</title><rect class="{}" fill-opacity="0.75" x="{:.1f}" y="{:.1f}" )"
                     R"(width="{:.1f}" height="{:.1f}"/></g>)",
                     escaped(shown(tile.node)), escaped(time_text(tile)), series_style(colour), x, y,
                     std::max(1.0, width - 1.5), std::max(1.0, height - 1.5));
}

/// The plane of a block and its tiles; one tile without a region is all of it.
std::string plane(const DrawnBlock& block, const Colours& colours, double x, double y) {
  std::int64_t rows = 1, columns = 1;
  for (const DrawnTile& tile : block.tiles) {
    if (!is_region(tile.region)) continue;
    rows = std::max(rows, tile.region[2]);
    columns = std::max(columns, tile.region[3]);
  }
  const double row = kSide / static_cast<double>(rows), column = kSide / static_cast<double>(columns);
  std::string svg;
  for (std::size_t i = 0; i < std::min(block.tiles.size(), kMostTiles); ++i) {
    const DrawnTile& tile = block.tiles[i];
    const std::vector<std::int64_t> all{0, 0, rows, columns};
    const std::vector<std::int64_t>& region = is_region(tile.region) ? tile.region : all;
    const auto at = [&](std::size_t k) { return static_cast<double>(region[k]); };
    svg += rectangle(tile, colours.at(tile.node), x + at(1) * column, y + at(0) * row, (at(3) - at(1)) * column,
                     (at(2) - at(0)) * row);
  }
  return svg;
}

std::string operators_text(const DrawnBlock& block) {
  if (block.operators == 1) return shown(block.first);
  return fmt::format("{} ... {} ({})", shown(block.first), shown(block.last), block.operators);
}

Drawing planes(const DrawnTeam& team, const Colours& colours) {
  const std::size_t count = std::min(team.blocks.size(), kMostBlocks);
  const double height = kSide + 2 * kLine + kGap;
  std::string svg;
  for (std::size_t b = 0; b < count; ++b) {
    const double x = static_cast<double>(b % kPlanesInARow) * (kSide + kGap);
    const std::size_t row = b / kPlanesInARow;
    const double y = static_cast<double>(row) * height;
    svg += fmt::format(R"(<text class="name" x="{:.1f}" y="{:.1f}">block {}</text>)", x, y + 11, b + 1);
    svg += plane(team.blocks[b], colours, x, y + kLine);
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x, y + kSide + 2 * kLine,
                       escaped(shortened(operators_text(team.blocks[b]), 22)));
  }
  const std::size_t rows = (count + kPlanesInARow - 1) / kPlanesInARow;
  return {.label = "the tiles of each block of operators",
          .width = static_cast<double>(kPlanesInARow) * (kSide + kGap),
          .height = static_cast<double>(rows) * height,
          .content = std::move(svg)};
}

std::string table(const DrawnTeam& team, bool has_measured) {
  std::string html =
      "<div class=\"table\"><table><tr><th>block</th><th class=\"text\">operators</th><th class=\"text\">node</th>"
      "<th>rows</th><th>columns</th>";
  html += has_measured ? "<th>a micro-batch</th><th>predicted</th></tr>\n" : "<th>predicted</th></tr>\n";
  for (std::size_t b = 0; b < std::min(team.blocks.size(), kMostBlocks); ++b) {
    const DrawnBlock& block = team.blocks[b];
    for (std::size_t i = 0; i < std::min(block.tiles.size(), kMostTiles); ++i) {
      const DrawnTile& tile = block.tiles[i];
      const bool has_region = is_region(tile.region);
      const auto range = [&](std::size_t from, std::size_t to) {
        return has_region ? fmt::format("{} - {}", tile.region[from], tile.region[to] - 1) : "all";
      };
      html += fmt::format("<tr><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td>",
                          b + 1, escaped(operators_text(block)), escaped(shown(tile.node)), range(0, 2), range(1, 3));
      if (has_measured) html += fmt::format("<td>{}</td>", tile.busy ? escaped(format_seconds(*tile.busy)) : "");
      html += fmt::format("<td>{}</td></tr>\n", escaped(format_seconds(tile.predicted_busy)));
    }
  }
  return html + "</table></div>\n";
}

/// The names of the team's nodes, by their colours.
std::map<std::size_t, std::string> names_of(const DrawnTeam& team, const Colours& colours) {
  std::map<std::size_t, std::string> names;
  for (const DrawnBlock& block : team.blocks)
    for (const DrawnTile& tile : block.tiles) names[colours.at(tile.node)] = tile.node;
  return names;
}

std::string figures_of(const DrawnTeam& team) {
  return fmt::format("{} reads the samples; {} times the whole network's work; {} between nodes for a micro-batch",
                     shown(team.source), format_number(team.work), format_bytes(team.sent));
}

std::string legend(const DrawnTeam& team, const Colours& colours) {
  std::string html = "<p class=\"legend\">";
  for (const auto& [colour, name] : names_of(team, colours))
    html += fmt::format(R"(<b class="{}">{}</b> )", series_style(colour), escaped(shown(name)));
  return html + escaped(figures_of(team)) + "</p>\n";
}

/// A dot and a name for each node, and below them the planes.
Drawing planes_with_names(const DrawnTeam& team, const Colours& colours) {
  constexpr std::size_t kNamesInARow = 6;
  Drawing drawing = planes(team, colours);
  const double column = drawing.width / kNamesInARow;
  std::string names = fmt::format(R"(<text y="11">{}</text>)", escaped(figures_of(team)));
  std::size_t number = 0;
  double y = kLine;
  for (const auto& [colour, name] : names_of(team, colours)) {
    const double x = static_cast<double>(number % kNamesInARow) * column;
    const std::size_t row = number / kNamesInARow + 1;
    y = static_cast<double>(row) * kLine;
    names += fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"/><text x="{:.1f}" y="{:.1f}">{}</text>)",
                         series_style(colour), x + 4, y + 7, x + 13, y + 11, escaped(shortened(name, 22)));
    ++number;
  }
  const double top = y + kLine + 8;
  drawing.content = fmt::format("{}<g transform=\"translate(0 {:.1f})\">{}</g>", names, top, drawing.content);
  drawing.height += top;
  return drawing;
}

Colours colours_of(const std::vector<DrawnTeam>& teams) {
  Colours colours;
  for (const DrawnTeam& team : teams)
    for (const DrawnBlock& block : team.blocks)
      for (const DrawnTile& tile : block.tiles) colours.emplace(tile.node, colours.size());
  return colours;
}

std::string picture_of(const std::vector<DrawnTeam>& teams, bool has_measured) {
  const Colours colours = colours_of(teams);
  std::string html;
  for (std::size_t t = 0; t < std::min(teams.size(), kMostTeams); ++t) {
    if (teams.size() > 1) html += fmt::format("<h3>Team {}</h3>\n", t + 1);
    html += legend(teams[t], colours) + svg_in_page(planes(teams[t], colours)) + table(teams[t], has_measured);
  }
  return html;
}

}  // namespace

std::string tile_picture(const std::vector<infer::TileTeamReport>& teams) {
  return picture_of(teams_of(teams), /*has_measured=*/true);
}

std::string tile_picture(const std::vector<TilePlanReport::Team>& teams) {
  return picture_of(teams_of(teams), /*has_measured=*/false);
}

std::vector<Drawing> tile_drawings(const std::vector<TilePlanReport::Team>& planned) {
  const std::vector<DrawnTeam> teams = teams_of(planned);
  const Colours colours = colours_of(teams);
  std::vector<Drawing> drawings;
  for (std::size_t t = 0; t < std::min(teams.size(), kMostTeams); ++t) {
    drawings.push_back(planes_with_names(teams[t], colours));
    if (teams.size() > 1) drawings.back().label = fmt::format("team {}: {}", t + 1, drawings.back().label);
  }
  return drawings;
}

}  // namespace mangrove::cli

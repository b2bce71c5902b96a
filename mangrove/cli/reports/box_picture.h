#pragma once

#include <string>
#include <vector>

#include "mangrove/cli/reports/drawing.h"

namespace mangrove::cli {

/// A box of a picture: a title, lines below it, and bars with a text each. What is wider than the box is cut.
struct Box {
  struct Bar {
    std::string style;  // class
    double share = 0;   // of the box's width, from 0 to 1
    std::string text;
  };
  std::string title;
  std::vector<std::string> lines = {};
  std::vector<Bar> bars = {};
  std::vector<std::string> way = {};  // what stands beside the way that leads from it (chain), or to it (bus)
  std::string tooltip = {};           // shown where the pointer rests on it
  std::string style = {};             // class of its edge
};

/// Boxes with an arrow from each to the next one. label: what the picture shows, for who cannot see it.
Drawing chain_drawing(const std::string& label, const std::vector<Box>& boxes);
/// Writes chain_drawing() as an <svg> element of a page.
std::string chain_picture(const std::string& label, const std::vector<Box>& boxes);

/// Boxes that hang on a common line, which has a name.
Drawing bus_drawing(const std::string& label, const std::string& bus, const std::vector<Box>& boxes);
/// Writes bus_drawing() as an <svg> element of a page.
std::string bus_picture(const std::string& label, const std::string& bus, const std::vector<Box>& boxes);

/// A row for each name: a bar as long as its share, and a text behind it.
struct ShareRow {
  std::string name;
  std::vector<Box::Bar> bars;  // below one another
};
std::string share_rows(const std::string& label, const std::vector<ShareRow>& rows);

}  // namespace mangrove::cli

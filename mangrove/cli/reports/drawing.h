#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::cli {

/// A picture before it is known where it will stand: elements of SVG, with the classes that html_page() explains.
struct Drawing {
  std::string label;  // what it shows, for who cannot see it
  double width = 0, height = 0;
  std::string content;
};

/// Writes it as an <svg> element of a page.
std::string svg_in_page(const Drawing& drawing);

/// Whether a picture can be written there. errors: invalid_argument (the name does not end in .svg).
Status check_picture_path(const std::string& path);

/// Writes a title, and drawings below one another, as an SVG file. Its colours can be told apart on light and on dark
/// paper; it has no paper of its own.
std::string svg_file(const std::string& title, const std::vector<Drawing>& drawings);

}  // namespace mangrove::cli

#include "mangrove/cli/reports/drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/base/file.h"
#include "mangrove/cli/reports/html.h"

namespace mangrove::cli {
namespace {

constexpr double kMargin = 12, kTitle = 18, kBetweenDrawings = 16;
constexpr std::size_t kLongestTitle = 140;
constexpr PictureColours kOnAnyPaper = {
    .ink = "#6b7683", .soft = "#7b8694", .line = "#8b949e", .a = "#12966f", .b = "#d2601a"};
// Pages have a font. No one colour of lines is faint on light and on dark paper, so they are thin.
constexpr const char* kFileStyle = "text{font-family:system-ui,sans-serif}.grid,.rail{opacity:.35}";

}  // namespace

Status check_picture_path(const std::string& path) {
  if (fs::path(path).extension() == ".svg") return {};
  return make_error(Code::invalid_argument, "--picture: '" + path + "' does not end in .svg: pictures are SVG files");
}

std::string svg_in_page(const Drawing& drawing) {
  return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>)", drawing.width,
                     drawing.height, escaped(drawing.label), drawing.content) +
         "\n";
}

std::string svg_file(const std::string& title, const std::vector<Drawing>& drawings) {
  std::string content = fmt::format("<text class=\"name\" x=\"{0}\" y=\"{1}\">{2}</text>\n", kMargin,
                                    kMargin + kTitle - 5, escaped(shortened(title, kLongestTitle)));
  double width = 0, y = kMargin + kTitle;
  for (const Drawing& drawing : drawings) {
    y += kBetweenDrawings;
    content += fmt::format("<g transform=\"translate({} {:.1f})\"><title>{}</title>{}</g>\n", kMargin, y,
                           escaped(drawing.label), drawing.content);
    y += drawing.height;
    width = std::max(width, drawing.width);
  }
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
                     R"(viewBox="0 0 {0:.0f} {1:.0f}" role="img"><title>{2}</title>)"
                     "\n<style>{3}{4}</style>\n{5}</svg>\n",
                     width + 2 * kMargin, y + kMargin, escaped(title), kFileStyle, picture_style(kOnAnyPaper), content);
}

}  // namespace mangrove::cli

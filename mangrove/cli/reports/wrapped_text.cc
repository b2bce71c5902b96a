#include "mangrove/cli/reports/wrapped_text.h"

#include <algorithm>
#include <sstream>

#include "mangrove/cli/reports/terminal.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kHelpColumns = 80;
constexpr std::size_t kNarrowest = 24;  // columns of text; in fewer, a few words become a tower of lines
constexpr std::size_t kDeeper = 4;      // blanks before the rest of a line, where it cannot go on below its last column
constexpr std::string_view kColumnGap = "  ";  // at least this is between the columns of a row

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(text_width(text));
}

std::size_t margin_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// The blank at which the line is broken: the last one that leaves `columns` before it, or else the first one. There is
/// none in the margin, and none ("npos") where the line is one word.
std::size_t break_of(std::string_view line, std::size_t columns) {
  std::size_t best = std::string_view::npos;
  for (std::size_t blank = line.find(' ', margin_of(line)); blank != std::string_view::npos;
       blank = line.find(' ', blank + 1)) {
    if (best != std::string_view::npos && width_of(line.substr(0, blank)) > columns) break;
    best = blank;
  }
  return best;
}

/// The line in pieces of at most `columns`; those after the first begin with `indent` blanks.
std::string broken(std::string_view line, std::size_t indent, std::size_t columns) {
  std::string text, piece(line);
  while (width_of(piece) > columns) {
    const std::size_t at = break_of(piece, columns);
    if (at == std::string::npos) break;
    const std::string rest = piece.substr(at);
    piece.erase(at);
    piece.erase(piece.find_last_not_of(' ') + 1);
    text += piece + "\n";
    piece = std::string(indent, ' ') + rest.substr(margin_of(rest));
  }
  return text + piece + "\n";
}

/// Of the words of a text.
std::size_t widest_word(std::string_view text) {
  std::size_t widest = 0;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) widest = std::max(widest, width_of(word));
  return widest;
}

/// The column in which the rest of a long line begins: that of its last column, if its words have room there.
std::size_t indent_of(std::string_view line, std::size_t columns) {
  const std::size_t margin = margin_of(line);
  const std::size_t gap = line.rfind(kColumnGap);
  if (gap != std::string_view::npos && gap + kColumnGap.size() > margin) {
    const std::string_view last = line.substr(gap + kColumnGap.size());
    const std::size_t indent = width_of(line) - width_of(last);
    if (indent + std::max(kNarrowest, widest_word(last)) <= columns) return indent;
  }
  const bool is_below_a_column = margin > 2 * kDeeper && margin + kNarrowest <= columns;
  return is_below_a_column ? margin : margin + kDeeper;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string line(indent, ' ');
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) line += (line.size() > indent ? " " : "") + word;
  return broken(line, indent, kHelpColumns).substr(indent);
}

std::string folded(std::string_view report, std::size_t columns) {
  std::string text;
  while (!report.empty()) {
    const std::size_t end = std::min(report.find('\n'), report.size());
    std::string_view line = report.substr(0, end);
    if (width_of(line) > columns) line = line.substr(0, line.find_last_not_of(' ') + 1);
    text += width_of(line) > columns ? broken(line, indent_of(line, columns), columns) : std::string(line) + "\n";
    if (end == report.size()) text.pop_back();  // the report does not end with a line break
    report.remove_prefix(std::min(end + 1, report.size()));
  }
  return text;
}

}  // namespace mangrove::cli

#include "mangrove/cli/reports/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace mangrove::cli {
namespace {

// ECMA-48, and xterm's private modes for the second screen and the cursor.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kEraseLine = "\x1b[K";
constexpr const char* kEraseBelow = "\x1b[J";
constexpr const char* kPlain = "\x1b[0m";

const char* style_of(FrameLine::Emphasis emphasis) {
  switch (emphasis) {
    case FrameLine::Emphasis::heading:
      return "\x1b[1m";
    case FrameLine::Emphasis::warning:
      return "\x1b[33m";
    case FrameLine::Emphasis::none:
      break;
  }
  return "";
}

void write_out(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::string screen_text(const std::vector<FrameLine>& frame, TerminalSize size) {
  const auto rows = std::min(frame.size(), static_cast<std::size_t>(std::max(size.rows, 1)));
  std::string text = kHome;
  for (std::size_t row = 0; row < rows; ++row) {
    const FrameLine& line = frame[row];
    if (row > 0) text += "\r\n";
    text += style_of(line.emphasis) + line.text.substr(0, static_cast<std::size_t>(std::max(size.columns, 1)));
    if (line.emphasis != FrameLine::Emphasis::none) text += kPlain;
    text += kEraseLine;
  }
  return text + kEraseBelow;
}

Screen::Screen() {
  write_out(kEnter);
}

Screen::~Screen() {
  write_out(kLeave);
}

bool Screen::is_there() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

TerminalSize Screen::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void Screen::draw(const std::vector<FrameLine>& frame) {
  write_out(screen_text(frame, size()));
}

}  // namespace mangrove::cli

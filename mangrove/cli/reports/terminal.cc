#include "mangrove/cli/reports/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "mangrove/base/clock.h"
#include "mangrove/base/stop.h"

namespace mangrove::cli {
namespace {

// ECMA-48, and xterm's private modes for the second screen and the cursor.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kEraseLine = "\x1b[K";
constexpr const char* kEraseBelow = "\x1b[J";
constexpr const char* kPlain = "\x1b[0m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kYellow = "\x1b[33m";

constexpr Seconds kLookEvery = 0.05;  // whether the command is stopped

std::string styled(const std::string& text, FrameLine::Emphasis emphasis) {
  switch (emphasis) {
    case FrameLine::Emphasis::heading:
      return kBold + text + kPlain;
    case FrameLine::Emphasis::warning:
      return in_warning_colour(text);
    case FrameLine::Emphasis::none:
      break;
  }
  return text;
}

void write_out(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// How many bytes of a control character begin at `at`; 0: none does.
std::size_t control_length(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : '\0');
  if (byte == 0xc2 && next >= 0x80 && next < 0xa0) return 2;  // U+0080 to U+009F
  return byte < 0x20 || byte == 0x7f ? 1 : 0;
}

}  // namespace

TerminalSize terminal_size(int descriptor) {
  winsize window{};
  if (::ioctl(descriptor, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

bool is_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool has_colours(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (no_color == nullptr || *no_color == '\0');
}

std::string in_warning_colour(const std::string& text) {
  return kYellow + text + kPlain;
}

int text_width(std::string_view text) {
  return static_cast<int>(text.size()) - static_cast<int>(std::count_if(text.begin(), text.end(), continues_character));
}

std::string fitted(std::string_view text, int columns) {
  std::string line;
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!continues_character(text[at]) && ++width > columns) break;
    const std::size_t control = control_length(text, at);
    line += control > 0 ? '?' : text[at];
    at += std::max<std::size_t>(control, 1);
  }
  return line;
}

std::string screen_text(const std::vector<FrameLine>& frame, TerminalSize size, bool colours) {
  const auto rows = std::min(frame.size(), static_cast<std::size_t>(std::max(size.rows, 1)));
  std::string text = kHome;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string line = fitted(frame[row].text, std::max(size.columns, 1));
    if (row > 0) text += "\r\n";
    text += (colours ? styled(line, frame[row].emphasis) : line) + kEraseLine;
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
  return is_terminal(STDOUT_FILENO);
}

TerminalSize Screen::size() {
  return terminal_size(STDOUT_FILENO);
}

void Screen::draw(const std::vector<FrameLine>& frame) {
  write_out(screen_text(frame, size(), has_colours(STDOUT_FILENO)));
}

Keyboard::Keyboard() {
  // a process in the background would be stopped by the system for changing the terminal
  is_terminal_ = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() && ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (!is_terminal_) return;
  termios single = before_;
  single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  single.c_cc[VMIN] = 0;
  single.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &single);
}

Keyboard::~Keyboard() {
  if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Keyboard::Event Keyboard::wait(const std::stop_token& stop, Seconds seconds) {
  if (!is_terminal_) return wait_for_stop(stop, seconds) ? Event::stopped : Event::none;
  const SteadyClock clock;
  for (const Deadline deadline = clock.after(seconds); clock.now() < deadline;) {
    if (stop.stop_requested()) return Event::stopped;
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, static_cast<int>(kLookEvery * 1000)) <= 0) continue;
    if (::read(STDIN_FILENO, &key_, 1) == 1) return Event::key;
    is_terminal_ = false;  // it is gone
    return wait_for_stop(stop, seconds) ? Event::stopped : Event::none;
  }
  return Event::none;
}

}  // namespace mangrove::cli

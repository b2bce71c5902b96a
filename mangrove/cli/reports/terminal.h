#pragma once

#include <string>
#include <vector>

namespace mangrove::cli {

struct TerminalSize {
  int columns = 80, rows = 24;
};

/// One line of a frame; an emphasised one is shown in another colour where there are colours.
struct FrameLine {
  enum class Emphasis { none, heading, warning };
  std::string text;
  Emphasis emphasis = Emphasis::none;
};

/// Standard output as a whole screen that is drawn over and over, beside what was on it: its second screen, which goes
/// with the object. threads: one at a time.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Whether standard output is a terminal that can be drawn on.
  static bool is_there();
  /// Now: people resize windows.
  static TerminalSize size();

  /// Shows the frame in place of the one before, in one write and without clearing first, so that nothing flickers.
  void draw(const std::vector<FrameLine>& frame);
};

/// What draw() writes: lines are cut to the terminal's width, those that do not fit below are left out.
std::string screen_text(const std::vector<FrameLine>& frame, TerminalSize size);

}  // namespace mangrove::cli

#pragma once

#include <termios.h>

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::cli {

struct TerminalSize {
  int columns = 80, rows = 24;
};

/// The present size of the terminal behind this descriptor: people resize windows. Anything else has the default size.
TerminalSize terminal_size(int descriptor);

/// Whether the descriptor is a terminal that can be drawn on.
bool is_terminal(int descriptor);

/// Whether colours are wanted there: on terminals, unless $NO_COLOR is set (https://no-color.org).
bool has_colours(int descriptor);

/// The text in the colour of warnings.
std::string in_warning_colour(const std::string& text);

/// How many columns a text takes: its characters in UTF-8.
int text_width(std::string_view text);

/// The text, cut to this many columns and without control characters, which a name from the network may hold.
std::string fitted(std::string_view text, int columns);

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
  static TerminalSize size();

  /// Shows the frame in place of the one before, in one write and without clearing first, so that nothing flickers.
  void draw(const std::vector<FrameLine>& frame);
};

/// What draw() writes: lines are cut to the terminal's width, those that do not fit below are left out.
std::string screen_text(const std::vector<FrameLine>& frame, TerminalSize size, bool colours);

/// Standard input, whose keys are read one by one without being shown, where it is a terminal. threads: one at a time.
class Keyboard {
 public:
  Keyboard();
  ~Keyboard();
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  enum class Event { none, key, stopped };
  /// Waits for a key, for `seconds` at most. A process in the background is not stopped by it.
  Event wait(const std::stop_token& stop, Seconds seconds);
  /// Of the last Event::key.
  char key() const { return key_; }

 private:
  bool is_terminal_ = false;
  termios before_{};
  char key_ = 0;
};

}  // namespace mangrove::cli

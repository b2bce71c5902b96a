#pragma once

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace mangrove::testing {

/// A program on a terminal of its own, of 100 columns and 20 rows, to which it writes standard output and standard
/// error. Killed with the object if it still runs.
class OnATerminal {
 public:
  /// `arguments[0]` is the path of the program.
  explicit OnATerminal(std::vector<std::string> arguments) {
    winsize size{.ws_row = 20, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      setenv("TERM", "xterm", 1);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }
  ~OnATerminal() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    close(terminal_);
  }
  OnATerminal(const OnATerminal&) = delete;
  OnATerminal& operator=(const OnATerminal&) = delete;

  void resize(int columns, int rows) {
    const winsize size{.ws_row = static_cast<unsigned short>(rows),
                       .ws_col = static_cast<unsigned short>(columns),
                       .ws_xpixel = 0,
                       .ws_ypixel = 0};
    ASSERT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  /// Reads until `part` was shown, behind what was waited for before, or the program has ended.
  bool shows(const std::string& part) {
    char buffer[4096];
    shown_.erase(0, std::exchange(seen_, 0));
    while (shown_.find(part) == std::string::npos) {
      const ssize_t got = read(terminal_, buffer, sizeof buffer);
      if (got <= 0) return false;
      shown_.append(buffer, static_cast<std::size_t>(got));
    }
    seen_ = shown_.find(part) + part.size();
    return true;
  }
  void type(char key) { ASSERT_EQ(::write(terminal_, &key, 1), 1); }
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& shown() const { return shown_; }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string shown_;  // not yet waited for, and the last that was
  std::size_t seen_ = 0;
};

}  // namespace mangrove::testing

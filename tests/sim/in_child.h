#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

namespace mangrove::sim {

/// What the function returns, from a process of its own: SimGrid simulates once in a process. Empty, and a failure, if
/// that process dies. REQUIRES: no other thread runs.
inline std::string in_child(const std::function<std::string()>& function) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = function();
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = write(ends[1], text.data() + at, text.size() - at);
      if (wrote <= 0) break;
      at += static_cast<std::size_t>(wrote);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 65536> buffer{};
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  EXPECT_TRUE(ended_well) << "the process ended with status " << status;
  return ended_well ? text : "";
}

}  // namespace mangrove::sim

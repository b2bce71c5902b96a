#include "mangrove/testbed/tool.h"

#include <sstream>

#include "mangrove/cluster/child_process.h"

namespace mangrove::testbed {
namespace {

constexpr Seconds kToolEndsWithin = 20;
constexpr int kShellFindsNoProgram = 127;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Result<std::string> run_tool(const std::vector<std::string>& command) {
  // a shell, since the path of most users lacks sbin, and to have both outputs in one
  std::vector<std::string> arguments{"-c", "PATH=$PATH:/usr/sbin:/sbin; exec \"$@\" 2>&1", "tool"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  MG_TRY(const auto child, cluster::ChildProcess::start("/bin/sh", arguments, {}));
  const Deadline deadline = SteadyClock().after(kToolEndsWithin);
  std::string output;
  while (true) {
    const Result<std::string> line = child->read_line(deadline);
    if (line.ok()) {
      output += *line + "\n";
      continue;
    }
    if (line.code() == Code::unavailable) break;
    return line.error().context(joined(command));
  }
  if (!child->wait(deadline)) return make_error(Code::deadline_exceeded, joined(command) + ": does not end");
  if (child->exit_status() == 0) return output;
  if (child->exit_status() == kShellFindsNoProgram)
    return make_error(Code::not_found, "'" + command.front() +
                                           "' is not installed (Debian packages: iproute2, "
                                           "util-linux)");
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return make_error(Code::unavailable, "`" + joined(command) + "` failed: " + output);
}

Result<std::string> run_tool(const std::string& command) {
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(std::move(word));
  return run_tool(words);
}

}  // namespace mangrove::testbed

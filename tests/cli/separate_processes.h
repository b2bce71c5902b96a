#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"

namespace mangrove::testing {

/// "" where it cannot be read.
inline std::string text_of(const fs::path& path) {
  const Result<std::string> text = read_file(path);
  return text.ok() ? *text : std::string();
}

/// A coordinator and nodes started by hand, as on several machines.
struct SeparateProcesses : ::testing::Test {
  static std::string ready_line(Process& process) {
    process.wait_until([&] { return process.out().find('\n') != std::string::npos; }, 20);
    return process.out().substr(0, process.out().find('\n'));
  }
  static std::string after(const std::string& text, const std::string& mark) {
    const std::size_t at = text.find(mark);
    return at == std::string::npos ? std::string() : text.substr(at + mark.size());
  }
  void start_coordinator(const std::string& listen, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{program(), "coordinator", "--listen", listen, "--heartbeat-interval", "200ms"};
    words.insert(words.end(), more.begin(), more.end());
    if (!is_secure) words.insert(words.end(), {"--state", "none"});
    coordinator = std::make_unique<Process>(words);
    address = after(ready_line(*coordinator), "coordinator ready on ");
    ASSERT_FALSE(address.empty()) << coordinator->err();
  }
  /// One that keeps its state has certificates.
  void start_secure_coordinator(const std::string& listen, const fs::path& state, std::vector<std::string> more = {}) {
    is_secure = true;
    more.insert(more.end(), {"--state", state});
    start_coordinator(listen, more);
  }
  /// Invited when it is started for the first time, where certificates are asked for.
  std::unique_ptr<Process> start_node(const std::string& name) {
    std::vector<std::string> words{program(), "node", "--coordinator", address, "--listen", "127.0.0.1:0",
                                   "--name",  name,   "--threads",     "1"};
    if (is_secure && invited.insert(name).second) words.insert(words.end(), {"--join", invite("node")});
    return std::make_unique<Process>(words);
  }
  /// A join string.
  std::string invite(const std::string& role) const {
    const Finished invited_one = run_program({program(), "invite", "--role", role, "--coordinator", address, "--json"});
    const auto parsed = nlohmann::json::parse(invited_one.out, nullptr, false);
    EXPECT_TRUE(parsed.contains("join_string")) << invited_one.err;
    return parsed.value("join_string", "");
  }
  /// "a alive, b lost"
  std::string states() const {
    const Finished listed = run_program({program(), "nodes", "--coordinator", address, "--json"});
    const auto parsed = nlohmann::json::parse(listed.out, nullptr, false);
    std::string text;
    for (const auto& node : parsed["nodes"])
      text += (text.empty() ? "" : ", ") + node["name"].get<std::string>() + " " + node["state"].get<std::string>();
    return text;
  }
  bool becomes(const std::string& expected) const {
    SteadyClock clock;
    const Deadline deadline = clock.after(30);
    while (states() != expected && clock.now() < deadline) clock.sleep_until(clock.after(0.05));
    return states() == expected;
  }
  SeparateProcesses() { ::setenv("XDG_CONFIG_HOME", config.path().c_str(), 1); }
  void SetUp() override { start_coordinator("127.0.0.1:0"); }

  const TemporaryFolder config;  // where programs find identities
  bool is_secure = false;
  std::set<std::string> invited;

  std::unique_ptr<Process> coordinator;
  std::string address;
};

}  // namespace mangrove::testing

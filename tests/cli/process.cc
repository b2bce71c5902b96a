#include "tests/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "mangrove/base/check.h"
#include "mangrove/base/clock.h"

extern char** environ;

namespace mangrove::testing {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// Moves what can be read without waiting; closes at the end of the stream.
void read_available(int& fd, std::string& into) {
  std::array<char, 65536> buffer;
  while (fd >= 0) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got == 0) {
      ::close(fd);
      fd = -1;
    }
    return;
  }
}

/// Parent of a process, 0 if it is gone or a zombie.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::istringstream rest(text.substr(end_of_name + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return state == 'Z' ? 0 : parent;
}

}  // namespace

Process::Process(std::vector<std::string> arguments, std::vector<std::string> environment) {
  int out[2], err[2];
  MG_CHECK(::pipe2(out, O_CLOEXEC) == 0 && ::pipe2(err, O_CLOEXEC) == 0);
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  auto argument_pointers = pointers(arguments);
  auto environment_pointers = pointers(environment);
  const int error = ::posix_spawn(&pid_, arguments[0].c_str(), &actions, nullptr, argument_pointers.data(),
                                  environment_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  MG_CHECK_MSG(error == 0, arguments[0]);
  out_fd_ = out[0];
  err_fd_ = err[0];
  ::fcntl(out_fd_, F_SETFL, O_NONBLOCK);
  ::fcntl(err_fd_, F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  if (status_ < 0) {
    ::kill(pid_, SIGKILL);
    wait(10);
  }
  if (out_fd_ >= 0) ::close(out_fd_);
  if (err_fd_ >= 0) ::close(err_fd_);
}

void Process::signal(int number) const {
  ::kill(pid_, number);
}

void Process::drain(Seconds timeout) {
  std::array<pollfd, 2> polled{pollfd{out_fd_, POLLIN, 0}, pollfd{err_fd_, POLLIN, 0}};
  ::poll(polled.data(), polled.size(), static_cast<int>(timeout * 1000));
  read_available(out_fd_, out_);
  read_available(err_fd_, err_);
}

bool Process::wait_until(const std::function<bool()>& condition, Seconds timeout) {
  SteadyClock clock;
  const Deadline deadline = clock.after(timeout);
  while (!condition()) {
    if (status_ >= 0 || clock.now() >= deadline) return false;
    drain(0.02);
    int raw = 0;
    if (::waitpid(pid_, &raw, WNOHANG) == pid_) {
      status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
      drain(0);
    }
  }
  return true;
}

int Process::wait(Seconds timeout) {
  wait_until([&] { return status_ >= 0; }, timeout);
  return status_;
}

Finished run_program(std::vector<std::string> arguments, Seconds timeout, std::vector<std::string> environment) {
  Process process(std::move(arguments), std::move(environment));
  const int status = process.wait(timeout);
  return {status, process.out(), process.err()};
}

std::vector<pid_t> descendants(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    for (pid_t up = parent_of(pid); up > 1; up = parent_of(up)) {
      if (up == parent) {
        found.push_back(pid);
        break;
      }
    }
  }
  return found;
}

bool is_running(pid_t pid) {
  return parent_of(pid) != 0;
}

}  // namespace mangrove::testing

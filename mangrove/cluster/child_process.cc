#include "mangrove/cluster/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mangrove::cluster {
namespace {

constexpr Seconds kPollEvery = 0.01;
constexpr int kSignalled = 128;  // and the number of the signal: an exit status as shells have it

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return false;
    read.reset(fds[0]);
    write.reset(fds[1]);
    return true;
  }
};

/// A file without a name, to be read from its beginning; -1: there is no memory.
int memory_file(std::string_view content) {
  Descriptor file(memfd_create("input", MFD_CLOEXEC));
  while (file.get() >= 0 && !content.empty()) {
    const ssize_t done = write(file.get(), content.data(), content.size());
    if (done < 0 && errno != EINTR) return -1;
    if (done > 0) content.remove_prefix(static_cast<std::size_t>(done));
  }
  return file.get() < 0 || lseek(file.get(), 0, SEEK_SET) != 0 ? -1 : file.release();
}

/// All that the new process needs, ready before the fork: between fork and exec only system calls are safe, since
/// another thread may have held any lock of this process.
struct Launch {
  const char* program;
  char* const* arguments;
  pid_t parent;
  int input;
  int output;
  int log;
  int status;  // gets errno when the program cannot be started; closed by exec
};

[[noreturn]] void give_up(const Launch& launch) {
  const int error = errno;
  (void)!write(launch.status, &error, sizeof error);
  _exit(127);
}

[[noreturn]] void become(const Launch& launch) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(launch);
  if (getppid() != launch.parent) _exit(127);  // it ended before the line above
  if (dup2(launch.input, STDIN_FILENO) < 0 || dup2(launch.output, STDOUT_FILENO) < 0 ||
      dup2(launch.log, STDERR_FILENO) < 0)
    give_up(launch);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execv(launch.program, launch.arguments);
  give_up(launch);
}

Error start_error(const fs::path& program, int error) {
  const Code code = error == ENOENT                       ? Code::not_found
                    : error == EACCES || error == ENOEXEC ? Code::permission_denied
                                                          : Code::resource_exhausted;
  return make_error(code, "cannot start " + program.string() + ": " + std::strerror(error));
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const fs::path& program,
                                                          const std::vector<std::string>& arguments,
                                                          const fs::path& log, std::string_view given) {
  Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!given.empty()) input.reset(memory_file(given));
  const fs::path log_path = log.empty() ? "/dev/null" : log;
  const Descriptor log_file(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log_file.get() < 0)
    return make_error(errno == ENOENT ? Code::not_found : Code::permission_denied,
                      "cannot write " + log_path.string() + ": " + std::strerror(errno));
  Pipe output;
  Pipe status;
  if (input.get() < 0 || !output.open() || !status.open()) return start_error(program, errno);

  const std::string name = program.string();
  std::vector<char*> words{const_cast<char*>(name.c_str())};  // execv takes char* and changes nothing
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const Launch launch{name.c_str(),       words.data(),   getpid(),          input.get(),
                      output.write.get(), log_file.get(), status.write.get()};
  const pid_t pid = fork();
  if (pid < 0) return start_error(program, errno);
  if (pid == 0) become(launch);
  status.write.reset();
  output.write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(status.read.get(), &error, sizeof error);  // ends with the exec, or with the child
  } while (got < 0 && errno == EINTR);
  auto child = std::unique_ptr<ChildProcess>(new ChildProcess(pid, output.read.release()));
  if (got > 0) return start_error(program, error);
  return child;
}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(output_);
}

Result<std::string> ChildProcess::read_line(Deadline deadline) {
  const SteadyClock clock;
  while (true) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    const Seconds left = deadline - clock.now();
    if (left <= 0) return make_error(Code::deadline_exceeded, "nothing came in time");
    pollfd waiting{output_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1);
    if (ready <= 0) continue;
    char buffer[512];
    const ssize_t got = read(output_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return make_error(Code::unavailable, "it has ended");
    read_.append(buffer, static_cast<std::size_t>(got));
  }
}

void ChildProcess::terminate() {
  if (reaped_) return;
  kill(pid_, SIGTERM);
  kill(pid_, SIGCONT);  // a frozen one would not hear of it
}

bool ChildProcess::wait(Deadline deadline) {
  SteadyClock clock;
  while (!reaped_) {
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    reaped_ = done == pid_ || (done < 0 && errno == ECHILD);
    if (done == pid_) exit_status_ = WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
    if (!reaped_ && clock.now() >= deadline) return false;
    if (!reaped_) clock.sleep_until(clock.after(kPollEvery));
  }
  return true;
}

std::string ChildProcess::how_it_ended() const {
  if (exit_status_ <= kSignalled) return "exit status " + std::to_string(exit_status_);
  const int number = exit_status_ - kSignalled;
  return "signal " + std::to_string(number) + " (" + strsignal(number) + ")";
}

}  // namespace mangrove::cluster

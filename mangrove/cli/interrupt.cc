#include "mangrove/cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace mangrove::cli {
namespace {

sigset_t interrupt_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);  // a terminal that closes, unless `nohup` started us
  return signals;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t signals = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a reader of our output that is gone is a write error, not the end
  waiter_ = std::jthread([this](std::stop_token end) {
    const sigset_t waited = interrupt_signals();
    for (;;) {
      if (sigwaitinfo(&waited, nullptr) < 0) continue;
      if (end.stop_requested()) return;
      if (stop_.stop_requested()) ::_exit(130);
      stop_.request_stop();
    }
  });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), SIGTERM);  // wakes it
}

}  // namespace mangrove::cli

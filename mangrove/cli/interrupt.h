#pragma once

#include <stop_token>
#include <thread>

namespace mangrove::cli {

/// Turns SIGINT, SIGTERM and SIGHUP (unless it is ignored, as by `nohup`) into a stop request. A second signal ends the
/// process at once, with status 130. Make one at the start of main(), before any other thread, so that all threads
/// leave these signals to it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread waiter_;
};

}  // namespace mangrove::cli

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/report.h"
#include "mangrove/cli/settings.h"
#include "mangrove/job/progress.h"

namespace mangrove::cli {

/// [#####.....]
std::string text_bar(double share, int width);
/// Progress as a line of at most so many columns: where they are few the bar is shorter, and what matters
/// least is left out.
std::string progress_line(const job::Progress& progress, int columns);

/// What is shown while something takes its time, that is expected to take so long in all (0: not known).
std::string wait_line(const std::string& phase, Seconds waited, Seconds expected, int columns);

/// Shows a running job on standard error: on a terminal a bar and a line per node, redrawn in place and as wide as it
/// is now; elsewhere a plain line every few seconds. Events, and what each epoch came to, are printed as they come.
/// threads: one at a time.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(bool enabled);
  ~ProgressDisplay() { finish(); }

  bool is_enabled() const { return enabled_; }
  /// A "progress", "epoch", "nodes" or "event" report; others are ignored.
  void show(const Report& report);
  /// Leaves the last state on the screen.
  void finish();

 private:
  bool show_event(const Report& report);
  bool show_epoch(const Report& report);
  bool take_progress(const Report& report);
  bool take_nodes(const Report& report);
  void draw();
  void print_plain();
  void print_line(const std::string& line);
  /// What removes the lines that were drawn last.
  std::string erasure();
  /// The bar (before there is one: that the job is being prepared) and the nodes, as far as the terminal has room for
  /// them.
  std::vector<std::string> lines(int columns, int rows) const;

  bool enabled_;
  bool terminal_;
  SteadyClock clock_;
  Instant last_drawn_{};
  std::vector<int> drawn_;                 // columns of each line on the screen
  bool unseen_ = false;                    // something has changed since the last plain line
  std::optional<job::Progress> progress_;  // the latest
  Instant began_ = clock_.now();
  std::vector<std::string> nodes_;  // a line each
};

/// Whether a command that computes in this process shows how far it is: only to a person at a terminal.
bool shows_progress(const OutputOptions& output);

/// What a loop goes over: the rate is told of samples only.
enum class Loop { samples, steps };

/// Tells a display how far a loop is, with the rate and the time left.
class LoopProgress {
 public:
  /// The display must outlive this. `phase`: one word for a person.
  LoopProgress(ProgressDisplay& display, std::string phase, std::int64_t total, Loop loop = Loop::samples);
  void operator()(std::int64_t done) const;

 private:
  ProgressDisplay& display_;
  std::string phase_;
  std::int64_t total_;
  Loop loop_;
  SteadyClock clock_;
  Instant start_;
};

/// Shows how long something takes that does not tell how far it is: a line on standard error, drawn over and over on a
/// thread of its own, and gone with the object.
class WaitDisplay {
 public:
  /// enabled: see shows_progress. `phase`: one word for a person. expected: how long it takes in all; 0: not known.
  WaitDisplay(bool enabled, std::string phase, Seconds expected);

 private:
  std::jthread drawer_;
};

}  // namespace mangrove::cli

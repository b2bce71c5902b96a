#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/frame_counts.h"
#include "mangrove/infer/pipeline/in_flight.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/pipeline/stream_work.h"
#include "mangrove/infer/result.h"
#include "mangrove/job/frame_queue.h"

namespace mangrove::infer {

/// Frames that a client pushes. A micro-batch has all frames that are there when the pipeline takes one, up to the
/// job's size. Answers are reported in the order in which frames came. This order and the window bound the number of
/// frames in memory: a client that pushes faster has to wait.
class FrameWork final : public StreamWork {
 public:
  /// window: micro-batches in flight.
  FrameWork(const InferJob& job, job::FrameQueue& frames, std::vector<std::string> classes, std::size_t window,
            Reports& reports);

  void begin(Instant) override {}
  std::optional<Command> next(Instant now) override;
  Taken take(const Predictions& predictions, Instant now) override;
  Taken look(const Predictions& predictions, Instant now) const override;
  Command copy(std::uint64_t micro_batch, Instant now) override {
    in_flight_.renew(micro_batch, now);
    return feed(micro_batch, now);
  }
  /// An answer that older frames hold back has not been told yet. Its deadline stays.
  Redo redo(std::uint64_t micro_batch) override;
  void set_window(std::size_t window) override { window_ = window; }
  void resend_all() override { in_flight_.resend_all(); }
  std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout) override {
    return in_flight_.resend_overdue(now, timeout);
  }
  bool is_done() const override { return batches_.empty() && frames_.is_over(); }
  bool is_waiting() const override { return in_flight_.size() > 0; }
  std::optional<std::int64_t> left() const override { return std::nullopt; }

  const FrameCounts& counts() const { return counts_; }

 private:
  struct Slot {
    job::Frame frame;                        // until its answer is told, which may turn out to be wrong before
    std::optional<FrameAnswer> answer = {};  // nothing: not answered yet
    std::string scores = {};                 // of frames of values
  };
  struct Batch {
    std::vector<Slot> slots;
    std::vector<std::size_t> rows;  // the slots that were sent
    bool is_answered = false;
  };

  Batch collect();
  bool have_all_missed(const Batch& batch, Instant now) const;
  bool expire(Batch& batch, Instant now);
  Command feed(std::uint64_t id, Instant now) const;
  void answer(Slot& slot, FrameAnswer answer, Instant now);
  void count(const FrameAnswer& answer);
  void report();

  const bool has_scores_;  // frames are values
  const std::size_t micro_batch_;
  std::size_t window_;
  const Seconds deadline_;  // 0: none
  job::FrameQueue& frames_;
  const std::vector<std::string> classes_;
  Reports& reports_;
  std::map<std::uint64_t, Batch> batches_;  // not reported yet
  InFlight in_flight_;
  std::uint64_t next_ = 0;     // number of the next micro-batch
  std::int64_t reported_ = 0;  // frames
  FrameCounts counts_;
  std::optional<Instant> began_;  // when a stage first asked for work
};

}  // namespace mangrove::infer

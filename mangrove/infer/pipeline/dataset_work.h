#pragma once

#include <string>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/micro_batches.h"
#include "mangrove/infer/pipeline/stream_work.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// The answers for the samples of a data set.
struct Answers {
  std::vector<std::int32_t> predictions;          // per sample; -1: none, or too late
  std::vector<std::int32_t> truths;               // per sample that has a prediction
  std::vector<std::int32_t> deliveries;           // per sample: how often an answer was written to `predictions`
  std::vector<std::optional<Seconds>> latencies;  // by micro-batch, from its first sending to its answer in time
  std::int64_t missed = 0;                        // samples whose deadline passed
};

/// The test split of a data set. The node of the first stage reads the samples itself.
class DatasetWork final : public StreamWork {
 public:
  /// window: micro-batches in flight.
  DatasetWork(const InferJob& job, const Hello& data, std::size_t window, Reports& reports);

  void begin(Instant now) override {
    start_ = now;
    throttle_ = job::Throttle(now);
  }
  std::optional<Command> next(Instant now) override;
  Taken take(const Predictions& predictions, Instant now) override;
  Taken look(const Predictions& predictions, Instant now) const override;
  Command copy(std::uint64_t micro_batch, Instant now) override {
    micro_batches_.renew(micro_batch, now);
    return feed(micro_batches_.part(micro_batch), now);
  }
  /// Its time limit begins anew.
  Redo redo(std::uint64_t micro_batch) override;
  void set_window(std::size_t window) override { micro_batches_.set_window(window); }
  void resend_all() override { micro_batches_.resend_all(); }
  std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout) override {
    return micro_batches_.resend_overdue(now, timeout);
  }
  bool is_done() const override { return micro_batches_.done(); }
  bool is_waiting() const override { return micro_batches_.in_flight() > 0; }
  std::optional<std::int64_t> left() const override { return samples_ - answered_; }

  const Answers& answers() const { return answers_; }

 private:
  Command feed(const MicroBatches::Part& part, Instant now) const;
  bool valid(const Predictions& predictions, Instant now) const;
  void write(const MicroBatches::Part& part, const Predictions* predictions, Instant now);

  const std::int64_t samples_;
  const std::int32_t classes_;
  const Seconds deadline_;   // 0: none
  const std::string phase_;  // of the progress that is told: the strategy
  Reports& reports_;
  MicroBatches micro_batches_;
  std::vector<std::optional<Instant>> first_sent_;  // by micro-batch
  std::int64_t answered_ = 0;                       // samples
  Instant start_;
  job::Throttle throttle_;
  Answers answers_;
};

}  // namespace mangrove::infer

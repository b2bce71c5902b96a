#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/result.h"
#include "mangrove/infer/tiers/dispatch.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/report.h"

namespace mangrove::infer {

/// The answers of a tiers job, image by image: first that of an end device, later the one that replaces it. threads:
/// one at a time.
class TierAnswers {
 public:
  /// data: the nodes' description of the data. job and data must outlive this object.
  TierAnswers(const InferJob& job, const Hello& data, const TierExits& exits);

  std::size_t batches() const;
  std::int64_t first_of(std::size_t batch) const { return static_cast<std::int64_t>(batch) * job_.micro_batch(); }
  std::int64_t count_of(std::size_t batch) const;
  /// Whether such an answer to such a batch exists.
  bool knows(const TierAnswer& said) const {
    return said.micro_batch() < batches() && said.answer() < exits_.answers();
  }
  /// The images that the task is about: those of its batch that have not left at an exit with an earlier answer.
  std::vector<std::int64_t> images_of(const TierTask& task) const;
  /// The fine class of an image that has an answer.
  std::int32_t truth(std::int64_t image) const { return truths_[static_cast<std::size_t>(image)]; }

  /// Whether this is a valid answer to its batch from a network of that tier. part: the tier's position in the job.
  bool fits(const TierAnswer& said, std::size_t part) const;
  /// Writes the first answer to a task. part: the tier's position in the job. latency: since the task was first given
  /// out. Returns the line for the stream of answers, without the node and the time.
  TierAnswersLine add(const TierTask& task, const TierAnswer& said, std::size_t part, Seconds latency);

  /// Fills in accuracies, whether every answer came exactly once, and the work of each tier. `skipped` counts second
  /// answers that could not come before the deadline, `unasked` later answers that the scheduler did not ask for.
  void summarize(std::int64_t skipped, std::int64_t unasked, TiersResult& result) const;
  /// For a network over the tiers: how many images left at each exit, and how many of these were right.
  std::vector<ExitReport> exits() const;

 private:
  struct Answered {
    std::int32_t label = -1;
    std::uint8_t part = 0;
    std::int32_t deliveries = 0;
    std::uint32_t exit = 0;  // as in TierAnswer
  };
  struct OfTier {
    std::int64_t tasks = 0, images = 0, right = 0, coarsely_right = 0;
    std::vector<Seconds> latencies;  // one for each task
  };
  bool exits_fit(const TierAnswer& said) const;
  bool is_about(Answer answer, std::size_t image) const;
  /// The last answer to the image so far. Nothing: there is none.
  std::optional<Answer> last_answer(std::size_t image) const;
  const Answered& answered(Answer answer, std::size_t image) const {
    return answers_[static_cast<std::size_t>(answer)][image];
  }
  bool has_hierarchy() const {
    return data_.classes_size() > 0 && data_.coarse_of_class_size() == data_.classes_size();
  }
  std::int32_t coarse(std::int32_t fine) const { return data_.coarse_of_class(fine); }
  bool is_right(const Answered& answer, std::int32_t truth) const;
  bool is_coarsely_right(const Answered& answer, std::int32_t truth) const;

  const InferJob& job_;
  const Hello& data_;
  const TierExits exits_;
  std::vector<std::int32_t> truths_;                     // fine; -1: not known
  std::array<std::vector<Answered>, kAnswers> answers_;  // by answer and image
  std::vector<OfTier> tiers_;                            // as in the job
};

}  // namespace mangrove::infer

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/job/role.h"
#include "mangrove/train/chunk_channel.h"
#include "mangrove/train/compression/range_codecs.h"
#include "mangrove/train/compression/reduced_range.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/data_parallel/global_model.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

/// A worker's side of all_reduce: its own copy of the values, the optimizer that updates them, and the sums that it
/// makes with others, bucket by bucket, while gradients are still computed. An update is made only when the leader says
/// that everyone has the sums, so copies never part.
/// threads: one at a time.
class AllReduceWorker final {
 public:
  /// After a third of the job's timeout without the part that is waited for, the leader is told. interruption: gets the
  /// work that ends a reduction.
  /// errors: those of GlobalModel::create and parse_topology.
  static Result<std::unique_ptr<AllReduceWorker>> create(const Graph& graph, const TrainJob& job,
                                                         const Hyperparameters& recipe, job::RoleContext& context,
                                                         std::optional<net::Message>& interruption);

  /// Brings the values to the version of this work: with the state in its body, or with the update that it tells of.
  /// False: neither will do; the leader has to send the state.
  bool follow(const Work& work, std::string_view body);
  std::span<const float> values() const { return model_->values(); }

  /// Of the gradients: 1, so that sums are over samples; with a codec, so that they are means over the samples of the
  /// work's reduction: what is left of a large step must not weigh more in a small one.
  float scale(const Work& work) const { return codecs_ ? 1 / static_cast<float>(work.reduction().samples()) : 1.0f; }

  /// Begins to sum `values`, a gradient and the states weighted with their share of the samples, over the ranks of the
  /// work's reduction. They are written after this, and must stay until finish(). False: this rank is not one of them.
  bool begin(const Work& work, std::span<float> values);
  /// The gradient of this parameter is there; of all parameters and one more: the states are. In any order, each once.
  /// What can be sent goes on its way; nothing is waited for.
  void ready(std::size_t parameter);
  /// Waits until `values` are the sums. False: it came to nothing, since a rank is lost or the leader has other work.
  /// errors: cancelled.
  Result<bool> finish();
  /// By finish(), for the first part that came: until the rank that it came from was ready, mostly.
  Seconds waited() const { return waited_; }

  /// After finish(): what the leader gets of this rank, so that it gets all sums once. Appended to the answer's shares
  /// where the job has a codec.
  std::string share_of_sums(Answer& answer) const;
  const TransferStats& transfer_stats() const { return parts_.transfer_stats(); }

 private:
  /// A bucket's way to its sum; its parts are the stream of its number.
  struct Sum {
    std::size_t first = 0;            // element of all
    bool is_encoded = false;          // each part on its way; else floats go as they are
    ReducedRange* reduced = nullptr;  // what is summed are its floats; null: the values themselves
    std::size_t count = 0;            // elements that floats stand for which go on their way now
    std::size_t missing = 0;          // of what ready() tells; at 0 it is under way
    std::span<float> values = {};     // to be summed
    std::vector<Transfer> plan = {};
    std::size_t next = 0;  // transfer

    bool done() const { return reduced == nullptr && is_at_end(); }
    bool is_at_end() const { return next == plan.size(); }
    bool waits() const { return missing == 0 && !done(); }
    net::Rank waits_for() const { return plan[next].peer; }
  };

  AllReduceWorker(std::unique_ptr<GlobalModel> model, const TrainJob& job, const Topology& topology,
                  job::RoleContext& context, std::optional<net::Message>& interruption);
  Range of_all(const Sum& sum, Range range) const { return {sum.first + range.first, range.count}; }
  std::size_t sum_of(std::size_t parameter) const;
  std::vector<Transfer> plan_of(std::size_t elements) const;
  void begin_sum(std::uint32_t bucket);
  void advance(std::uint32_t bucket);
  void follow_plan(std::uint32_t bucket);
  void finish_reduced(std::uint32_t bucket);
  void send(std::uint32_t bucket, const Transfer& transfer);
  void send_reduced(std::uint32_t bucket, const Transfer& transfer);
  void reset_reduced();
  const std::string& finished(Sum& sum, Range range);
  bool use_part(std::uint32_t bucket, const Transfer& transfer);
  Status add_or_take(Sum& sum, const Transfer& transfer, std::string_view body);
  Status take_parts(Deadline deadline);
  void tell_leader(net::Rank waiting_for);

  std::unique_ptr<GlobalModel> model_;
  const Topology topology_;
  job::RoleContext& context_;
  const Seconds patience_;
  ChunkChannel parts_;
  const std::optional<net::Message>& interruption_;
  const std::vector<Bucket> buckets_;
  const std::size_t parameters_;  // elements
  std::int64_t version_ = -1;
  std::string sum_;  // of the last reduction, as bytes, until its update is made
  std::uint64_t sum_id_ = 0;
  std::optional<RangeCodecs> codecs_;  // where the job has a codec
  std::vector<ReducedRange> reduced_;  // of the buckets, where it is a linear one
  // of the reduction that goes on
  std::uint64_t id_ = 0, round_ = 0;
  net::RankSet group_;
  std::map<std::size_t, std::string> finished_;  // messages of finished sums, by their first element
  bool is_finished_ = true;                      // the last one
  std::vector<Range> own_finished_;              // of them, those that this rank has made
  std::span<float> values_;
  std::vector<float> scratch_;
  std::vector<Sum> sums_;  // of the buckets; then that of the states, where the others are encoded
  Status broken_;          // why it will come to nothing
  Seconds waited_ = 0;
};

}  // namespace mangrove::train

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

/// A worker's side of all_reduce. It has its own copy of the values and the optimizer that updates them. It sums
/// gradients with other workers, bucket by bucket, while later gradients are still being computed. It makes an update
/// only when the leader says that everyone has the sums, so the copies of all workers stay equal.
/// threads: one at a time.
class AllReduceWorker final {
 public:
  /// interruption: receives the work that ends a reduction. The leader is told when the part that this worker waits for
  /// has not come for a third of the job's timeout. errors: those of parse_topology.
  static Result<std::unique_ptr<AllReduceWorker>> create(const TrainJob& job, const Hyperparameters& recipe,
                                                         job::RoleContext& context,
                                                         std::optional<net::Message>& interruption);

  /// From now on the worker has the parameters of this graph, and the next work has to bring their state. To be called
  /// before anything else. divided: for each parameter, whether only some ranks of a reduction have it (see begin);
  /// empty: none, which a codec requires. errors: those of GlobalModel::create.
  Status use(const Graph& graph, std::vector<bool> divided = {});

  /// Brings the values to the version of this work. It takes the state from the work's body, or makes the update that
  /// the work describes. Returns false if neither is possible; then the leader has to send the state.
  bool follow(const Work& work, std::string_view body);
  std::span<const float> values() const { return model_->values(); }

  /// The factor of the gradients. It is 1 without a codec: sums are over samples. With a codec, it makes the sums means
  /// over the samples of the work's reduction. Otherwise what error feedback keeps of a large step would weigh more in
  /// a small one.
  float scale(const Work& work) const { return codecs_ ? 1 / static_cast<float>(work.reduction().samples()) : 1.0f; }

  /// Begins to sum `values` over the ranks of the work's reduction: a gradient, and the states weighted with their
  /// share of the samples. The caller writes them after this call, and they must stay until finish(). Returns false if
  /// this rank is not part of the reduction. peers: the ranks, this one among them, that have the same divided
  /// parameters. Gradients of these are summed over them only.
  bool begin(const Work& work, std::span<float> values, net::RankSet peers = {});
  /// Says that the gradient of this parameter is there. One number beyond the last parameter says that the states are
  /// there. The calls come in any order, once for each. Sends what can be sent, and waits for nothing.
  void ready(std::size_t parameter);
  /// Waits until `values` hold the sums. Returns false if the reduction failed, because a rank is lost or the leader
  /// has other work. errors: cancelled.
  Result<bool> finish();
  /// Parts of other things than sums can go through the same channel in a reduction, in streams from kFirstFreeStream
  /// on.
  ChunkChannel& parts() { return parts_; }
  static constexpr std::uint32_t kFirstFreeStream = 1u << 24;
  /// Waits for such a part from one of these ranks. Returns false if the reduction failed, as finish() does. When
  /// nothing has come for a third of the job's timeout, the leader is told. errors: cancelled.
  Result<bool> wait_for(const net::RankSet& from);
  /// How long finish() waited for the first part that came. This is mostly the time until the sending rank was ready.
  Seconds waited() const { return waited_; }

  /// After finish(): the share of the sums that this rank sends the leader. The shares of all ranks together hold every
  /// sum once: first this rank's part of what all ranks have, then its part of what its peers have. With a codec, the
  /// message is described in the answer's `shares`.
  std::string share_of_sums(Answer& answer) const;

 private:
  /// How far the sum of one bucket is. Its parts travel in the stream of the bucket's number.
  struct Sum {
    std::size_t first = 0;                // the bucket's first element among all elements
    bool is_encoded = false;              // the codec encodes each part; otherwise floats are sent as they are
    ReducedRange* reduced = nullptr;      // its floats are summed; null: the values themselves are summed
    std::size_t count = 0;                // elements that the floats which are being sent stand for
    std::size_t missing = 0;              // calls of ready() still to come; at 0 the sum begins
    const net::RankSet* ranks = nullptr;  // that have them
    std::span<float> values = {};         // the floats to be summed
    std::vector<Transfer> plan = {};
    std::size_t next = 0;  // position in the plan

    bool done() const { return reduced == nullptr && is_at_end(); }
    bool is_at_end() const { return next == plan.size(); }
    bool waits() const { return missing == 0 && !done(); }
    net::Rank waits_for() const { return plan[next].peer; }
  };

  AllReduceWorker(const TrainJob& job, const Hyperparameters& recipe, const Topology& topology,
                  job::RoleContext& context, std::optional<net::Message>& interruption);
  Range of_all(const Sum& sum, Range range) const { return {sum.first + range.first, range.count}; }
  std::size_t sum_of(std::size_t parameter) const;
  std::vector<Transfer> plan_of(const net::RankSet& ranks, std::size_t elements) const;
  bool is_divided(const Bucket& bucket) const { return divided_[bucket.first_parameter]; }
  bool has_states_apart() const { return codecs_ || (!divided_.empty() && divided_.back()); }
  void append_share(bool divided, const net::RankSet& ranks, std::string& body) const;
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
  Result<bool> await(const net::RankSet& from, Deadline deadline);
  Result<bool> goes_on() const;
  Status take_parts(Deadline deadline);
  void tell_leader(net::Rank waiting_for);

  const TrainJob& job_;
  const Hyperparameters recipe_;
  std::unique_ptr<GlobalModel> model_;
  const Topology topology_;
  job::RoleContext& context_;
  const Seconds patience_;
  ChunkChannel parts_;
  const std::optional<net::Message>& interruption_;
  std::vector<Bucket> buckets_;
  std::vector<bool> divided_;   // of each parameter
  std::size_t parameters_ = 0;  // elements
  std::int64_t version_ = -1;
  std::string sum_;  // the last reduction's sum as bytes, until its update is made
  std::uint64_t sum_id_ = 0;
  std::optional<RangeCodecs> codecs_;  // only if the job has a codec
  std::vector<ReducedRange> reduced_;  // one for each bucket, only if the codec is linear
  // The current reduction:
  std::uint64_t id_ = 0, round_ = 0;
  net::RankSet group_, peers_;
  std::map<std::size_t, std::string> finished_;  // encoded messages of finished sums, by first element
  bool is_finished_ = true;                      // the last reduction has ended
  std::vector<Range> own_finished_;              // the finished ranges that this rank has summed
  std::span<float> values_;
  std::vector<float> scratch_;
  std::vector<Sum> sums_;  // one for each bucket; with a codec one more, for the states
  Status broken_;          // why the reduction will fail
  Seconds waited_ = 0;
};

}  // namespace mangrove::train

#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mangrove/data/shard_cache.h"
#include "mangrove/train/shards/endpoint.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Whether the job's data comes over its connections, from the leader and from workers that have it already. If not,
/// every node has the data in its own data folder. errors: invalid_argument (data_from is not "own", "" or "cluster").
Result<bool> is_from_cluster(const TrainJob& job);

/// The endpoint of a worker whose data comes over the job's connections. It gets shards in the background, those that
/// are needed first before the others, and gives others the shards that it has. ShardDirectory explains who gets what
/// from whom.
///
/// Its questions are no job::Requests. A request's time limit is that of a rank, for the oldest of its questions. Here
/// the time limit is that of a shard: the leader is asked who has it, then that rank for its parts, two at a time.
/// Every part that comes extends the limit of its own shard alone. A source that is late with one shard may go on with
/// another. A part is known by its place in the file, whichever question it answers. The hash of the shard says whether
/// the parts were right.
class ShardFetcher final : public ShardEndpoint {
 public:
  using Shards = std::vector<std::uint32_t>;  // by their place in the list

  /// job: must outlive it.
  ShardFetcher(const TrainJob& job, job::RoleContext& context);

  /// Waits until the leader has sent the list of shards, and checks which of them are here. errors: unavailable (the
  /// leader is gone), cancelled, those of data::ShardCache::open.
  Status open();
  // The rest REQUIRES open().

  /// The data set for data::open_dataset: a folder with all shards. Shards that have not come must not be read.
  const std::string& data() const { return data_; }
  /// The job's augmentation recipe, with the statistics of all samples in it.
  const std::string& augmentation() const { return augmentation_; }
  /// See data::Dataset::file.
  std::uint32_t shard_of(const std::string& file) const;

  bool has(const Shards& shards) const;
  /// From now on shards come in this order.
  void prefetch(const Shards& shards);
  /// Waits until these shards have come, before all others, and tells the leader now and then that the work of this
  /// round goes on. If the leader sends a message meanwhile, returns it: then nobody waits for this work any more.
  /// errors: unavailable (the leader is gone), cancelled, data_loss (no source gives a valid shard), those of
  /// data::ShardCache.
  Result<std::optional<net::Message>> wait(const Shards& shards, std::uint64_t round);

 private:
  static constexpr net::Rank kNobody = -1;
  struct Fetch {
    net::Rank source = kNobody;  // kNobody: the leader has not named one yet
    std::string sha256 = {};
    Bytes asked = 0;                   // bytes asked for so far, from the beginning of the file
    std::set<Bytes> outstanding = {};  // offsets of parts that were asked for and have not come
    Deadline silent_at = {};
    int failures = 0;
  };
  using Fetches = std::map<std::uint32_t, Fetch>;

  Deadline attend() override;
  void nothing_came() override;
  void take(net::Rank from, const ShardMessage& message, std::string_view body) override;
  Result<std::string> read(std::uint32_t shard, Bytes offset) const override;
  void take_source(const ShardMessage::Source& source);
  void take_part(net::Rank from, const ShardMessage::Part& part, std::string_view body);
  void start_fetches();
  void ask_more(std::uint32_t shard, Fetch& fetch);
  void finish(Fetches::iterator fetch);
  void give_up(Fetches::iterator fetch, const std::string& reason);
  void fail(Fetches::iterator fetch, const Error& error);
  void tell_have(const Shards& shards, bool all);
  void tell_leader(std::uint64_t round);
  const data::ShardOutline& outline(std::uint32_t shard) const { return cache_->outlines()[shard]; }

  const TrainJob& job_;
  const Seconds patience_;  // how long a source may be silent
  std::optional<ShardMessage::List> list_;
  std::optional<data::ShardCache> cache_;
  std::string data_, augmentation_;
  std::map<std::string, std::uint32_t> by_name_;
  std::deque<std::uint32_t> wanted_;  // not begun; some of them may be here already
  Fetches fetches_;                   // fetches under way
  bool is_waited_for_ = false;        // true during wait()
  bool told_all_ = true;              // the leader knows that all shards are here, or none had to come
  Status failure_;                    // why a shard could not be had
  Bytes fetched_ = 0;                 // bytes received so far
  Instant told_at_;                   // when the leader was last told that work goes on
};

}  // namespace mangrove::train

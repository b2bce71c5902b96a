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

/// The job's data comes over its connections, from the leader and from workers that have it already; else every node
/// has it in its own data folder. errors: invalid_argument (data_from is neither "own", nor "", nor "cluster").
Result<bool> is_from_cluster(const TrainJob& job);

/// The endpoint of a worker whose data comes over the job's connections: gets shards in the background, those first
/// that are needed first, and gives others what it has.
class ShardFetcher final : public ShardEndpoint {
 public:
  using Shards = std::vector<std::uint32_t>;  // by their place in the list

  /// job: outlives this.
  ShardFetcher(const TrainJob& job, job::RoleContext& context);

  /// Waits until the leader has told what shards there are, and looks which are here. errors: unavailable (the leader
  /// is gone), cancelled, those of data::ShardCache::open.
  Status open();
  // The rest REQUIRES open().

  /// For data::open_dataset: a folder with all shards, of which those that have not come must not be read.
  const std::string& data() const { return data_; }
  /// The job's recipe, with the statistics of all samples in it.
  const std::string& augmentation() const { return augmentation_; }
  /// See data::Dataset::file.
  std::uint32_t shard_of(const std::string& file) const;

  bool has(const Shards& shards) const;
  /// They come in this order from now on.
  void prefetch(const Shards& shards);
  /// Waits until these have come, before all others; tells the leader that work of this round goes on. Something: what
  /// came from the leader meanwhile; nobody waits for this work any more. errors: unavailable (the leader is gone),
  /// cancelled, data_loss (nobody gives a shard as it should be), those of data::ShardCache.
  Result<std::optional<net::Message>> wait(const Shards& shards, std::uint64_t round);

 private:
  static constexpr net::Rank kNobody = -1;
  struct Fetch {
    net::Rank source = kNobody;  // until the leader has told one
    std::string sha256 = {};
    Bytes asked = 0;                   // so far, from the beginning of the file
    std::set<Bytes> outstanding = {};  // offsets of parts that were asked for
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
  const Seconds patience_;  // with one who is silent
  std::optional<ShardMessage::List> list_;
  std::optional<data::ShardCache> cache_;
  std::string data_, augmentation_;
  std::map<std::string, std::uint32_t> by_name_;
  std::deque<std::uint32_t> wanted_;  // not begun; may have some that are here
  Fetches fetches_;                   // begun
  bool is_waited_for_ = false;        // in wait()
  bool told_all_ = true;              // or there was nothing to come
  Status failure_;                    // why a shard could not be had
  Bytes fetched_ = 0;                 // so far
  Instant told_at_;                   // the leader, that work goes on
};

}  // namespace mangrove::train

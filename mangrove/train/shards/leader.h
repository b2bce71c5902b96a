#pragma once

#include <memory>
#include <string>

#include "mangrove/data/shard_folder.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/reports.h"
#include "mangrove/train/shards/directory.h"
#include "mangrove/train/shards/endpoint.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The endpoint of rank 0 in a job whose data comes over its connections. It tells workers which shards there are and
/// who has them, and gives them its own. ShardDirectory explains who gets what from whom.
class ShardLeader final : public ShardEndpoint {
 public:
  /// errors: invalid_argument (the job's data is not in shards), those of data::ShardFolder::open, and those of
  /// data::Augmentation::create if the job's augmentation takes statistics from the data.
  static Result<std::unique_ptr<ShardLeader>> create(const TrainJob& job, job::RoleContext& context);

 private:
  ShardLeader(job::RoleContext& context, data::ShardFolder shards, std::string augmentation)
      : ShardEndpoint(context),
        shards_(std::move(shards)),
        augmentation_(std::move(augmentation)),
        reports_(inner_context()) {}

  Deadline attend() override;
  void take(net::Rank from, const ShardMessage& message, std::string_view body) override;
  Result<std::string> read(std::uint32_t shard, Bytes offset) const override;
  void send_list(net::Rank to);
  void take_have(net::Rank from, const ShardMessage::Have& have);
  void take_want(net::Rank from, const ShardMessage::Want& want);

  data::ShardFolder shards_;
  const std::string augmentation_;
  ShardDirectory directory_;
  Reports reports_;
  std::uint64_t members_seen_ = 0;  // their version
};

}  // namespace mangrove::train

#include "mangrove/train/shards/leader.h"

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/spec.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kLongestReason = 100;  // bytes

}  // namespace

Result<std::unique_ptr<ShardLeader>> ShardLeader::create(const TrainJob& job, job::RoleContext& context) {
  const std::string key = "data_from: cluster: the coordinator";
  MG_TRY(const data::DatasetSpec spec, data::DatasetSpec::parse(job.data()));
  if (spec.name != "shards" && spec.name != "folder")
    return make_error(Code::invalid_argument, "data_from: cluster is for data in shards, and '" + job.data() +
                                                  "' is not: pack it with 'mangrove data pack'");
  MG_TRY(const fs::path folder, context.data_folder.find(spec.path).context(key));
  MG_TRY(data::ShardFolder shards, data::ShardFolder::open(folder, context.data_folder.opener()).context(key));
  std::string augmentation;
  if (!job.augment().empty()) {
    MG_TRY(const auto train, data::open_dataset(job.data(), data::Split::train, context.data_folder).context(key));
    MG_TRY(const auto made, data::Augmentation::create(job.augment(), *train).context("augment"));
    augmentation = made->text();
  }
  return std::unique_ptr<ShardLeader>(new ShardLeader(context, std::move(shards), std::move(augmentation)));
}

/// Tells those who can get a shard now where it is.
Deadline ShardLeader::attend() {
  const net::Members members = inner().members();
  if (members.version != members_seen_) {
    members_seen_ = members.version;
    for (const net::Member& member : members.all)
      if (!member.alive) directory_.lose(member.rank);
  }
  for (const ShardDirectory::Transfer& transfer : directory_.begin()) {
    const Result<std::string> sum = shards_.sha256(transfer.shard);
    if (!sum.ok()) {  // without it nobody can have the shard: who wants it will say so
      log_error("a shard cannot be read", {{"reason", sum.error().message}});
      continue;
    }
    ShardMessage message;
    ShardMessage::Source& source = *message.mutable_source();
    source.set_shard(transfer.shard);
    source.set_rank(transfer.from);
    source.set_sha256(*sum);
    send(transfer.to, message);
  }
  return Deadline::never();
}

void ShardLeader::take(net::Rank from, const ShardMessage& message, std::string_view) {
  if (message.has_ask()) return send_list(from);
  if (message.has_have()) return take_have(from, message.have());
  if (message.has_want()) return take_want(from, message.want());
}

void ShardLeader::send_list(net::Rank to) {
  ShardMessage message;
  ShardMessage::List& list = *message.mutable_list();
  list.set_augmentation(augmentation_);
  for (const data::ShardOutline& outline : shards_.outlines()) {
    ShardMessage::Outline& shard = *list.add_shards();
    shard.set_name(outline.name);
    shard.set_size(outline.size);
    shard.set_head(outline.head);
  }
  send(to, message);
}

void ShardLeader::take_have(net::Rank from, const ShardMessage::Have& have) {
  for (const std::uint32_t shard : have.shards())
    if (shard < shards_.outlines().size()) directory_.add(from, shard);
  const ShardDirectory::Received received = directory_.received(from);
  if (have.all()) reports_.event(DataIsThere{reports_.node(from), received.from_leader, received.from_others});
}

void ShardLeader::take_want(net::Rank from, const ShardMessage::Want& want) {
  if (want.shard() >= shards_.outlines().size() || want.refused() < 0 || want.refused() >= size()) return;
  // logged once, and cut: a hostile worker could say it again and again
  if (!want.reason().empty() && directory_.refuse(from, want.shard(), want.refused())) {
    reports_.event(ShardRefused{.node = reports_.node(want.refused()),
                                .by = reports_.node(from),
                                .shard = shards_.outlines()[want.shard()].name,
                                .reason = cut_short(want.reason(), kLongestReason)});
  }
  directory_.want(from, want.shard());
}

Result<std::string> ShardLeader::read(std::uint32_t shard, Bytes offset) const {
  return shards_.read(shard, offset, kShardPart);
}

}  // namespace mangrove::train

#include "mangrove/train/shards/endpoint.h"

#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr Bytes kMostQueued = MiB(4);  // for one rank: an honest rank waits for at most 8 parts
constexpr Seconds kLookEvery = 1;      // at who has joined, whose messages are to be taken too

bool is_about_shards(net::Tag tag) {
  return tag == kShardTag || tag == kShardBytesTag;
}

}  // namespace

Result<net::Message> ShardEndpoint::recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                             Deadline deadline) {
  while (true) {
    MG_TRY(std::optional<net::Message> message, recv_once(from, tags, deadline));
    if (message) return std::move(*message);
  }
}

/// A wait ends with `unavailable` where a rank is gone that the caller waits for; that another one is gone, whose
/// messages about shards are waited for beside, is none of the caller's business.
Result<std::optional<net::Message>> ShardEndpoint::recv_once(const net::RankSet& from,
                                                             const std::vector<net::Tag>& tags, Deadline deadline) {
  const Deadline until = std::min({deadline, attend(), clock().after(kLookEvery)});
  const net::Members members = inner().members();
  const bool is_any = from.size() == 1 && from.front() == net::kAnyRank;
  net::RankSet ranks = from;
  for (const net::Rank rank : members.alive_ranks()) {
    if (!is_any && std::find(from.begin(), from.end(), rank) == from.end()) ranks.push_back(rank);
  }
  std::vector<net::Tag> all_tags = tags;
  all_tags.insert(all_tags.end(), {kShardTag, kShardBytesTag});
  Result<net::Message> message = inner().recv_any(ranks, all_tags, until);
  if (message.ok()) {
    if (!is_about_shards(message->tag)) return std::optional(std::move(*message));
    see_to(*message);
    return std::optional<net::Message>();
  }
  if (message.code() == Code::unavailable && !is_any) {
    const net::Members now = inner().members();
    if (std::all_of(from.begin(), from.end(), [&](net::Rank rank) { return now.alive(rank); }))
      return std::optional<net::Message>();
  }
  if (message.code() == Code::deadline_exceeded) {
    nothing_came();
    if (clock().now() < deadline) return std::optional<net::Message>();
  }
  return message.error();
}

void ShardEndpoint::see_to(const net::Message& message) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  ShardMessage shard;
  if (!parts.ok() || !shard.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("a message about shards cannot be read", {{"rank", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  if (shard.has_read()) return answer(message.from, shard.read());
  take(message.from, shard, parts->body);
}

void ShardEndpoint::answer(net::Rank to, const ShardMessage::Read& request) {
  ShardMessage answer;
  answer.mutable_part()->set_shard(request.shard());
  answer.mutable_part()->set_offset(request.offset());
  const Result<std::string> part = read(request.shard(), request.offset());
  if (!part.ok()) log_warn("a shard cannot be given", {{"to", to}, {"reason", part.error().message}});
  send(to, answer, part.ok() ? std::string_view(*part) : std::string_view());
}

void ShardEndpoint::send(net::Rank to, const ShardMessage& message, std::string_view body) {
  const bool is_data = message.has_list() || message.has_part();
  if (is_data && inner().queued_bytes(to, kShardBytesTag) > kMostQueued)
    return log_debug("a question for shards is not answered: the rank does not take its answers", {{"rank", to}});
  std::string payload = net::begin_payload(message.SerializeAsString(), body.size());
  payload += body;
  inner().send(to, is_data ? kShardBytesTag : kShardTag, std::move(payload));
}

}  // namespace mangrove::train

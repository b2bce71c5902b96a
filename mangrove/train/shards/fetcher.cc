#include "mangrove/train/shards/fetcher.h"

#include <algorithm>

#include "mangrove/data/data_folder.h"
#include "mangrove/data/spec.h"
#include "mangrove/net/node_name.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kPartsAtOnce = 2;   // on their way, of a shard
constexpr std::size_t kShardsAtOnce = 2;  // on their way; twice as many while somebody waits for some
constexpr int kMostFailures = 8;          // of a shard
constexpr Seconds kTellEvery = 1;         // at whether the leader is to be told

}  // namespace

Result<bool> is_from_cluster(const TrainJob& job) {
  if (job.data_from().empty() || job.data_from() == "own") return false;
  if (job.data_from() == "cluster") return true;
  return make_error(Code::invalid_argument, "data_from: must be own or cluster, got '" + job.data_from() + "'");
}

ShardFetcher::ShardFetcher(const TrainJob& job, job::RoleContext& context)
    : ShardEndpoint(context), job_(job), patience_(job.step_timeout_s() / 3) {}

Status ShardFetcher::open() {
  MG_TRY(data::DatasetSpec spec, data::DatasetSpec::parse(job_.data()));
  ShardMessage ask;
  ask.mutable_ask();
  for (Deadline again; !list_;) {
    if (clock().now() >= again) {
      send(0, ask);
      again = clock().after(patience_);
    }
    const auto none = recv_once({0}, {}, again);
    if (!none.ok() && none.code() != Code::deadline_exceeded) return none.error().context("the list of the shards");
  }
  std::vector<data::ShardOutline> outlines;
  for (const ShardMessage::Outline& shard : list_->shards()) {
    by_name_[shard.name()] = static_cast<std::uint32_t>(outlines.size());
    outlines.push_back({shard.name(), shard.size(), shard.head()});
  }
  augmentation_ = list_->augmentation();
  const data::DataFolder& folder = inner_context().data_folder;
  // the coordinator's path of the data may not be open on this device: then all shards are fetched
  const Result<fs::path> own = folder.find(spec.path);
  const fs::path root = folder.path() / data::kFetchedFolder;
  MG_TRY(cache_, data::ShardCache::open(std::move(outlines), own.ok() ? *own : root, root));
  spec.name = "shards";
  spec.path = cache_->folder().string();
  data_ = spec.text();
  Shards here;
  for (std::uint32_t shard = 0; shard < cache_->outlines().size(); ++shard)
    if (cache_->has(shard)) here.push_back(shard);
  tell_have(here, /*all=*/false);
  return {};
}

std::uint32_t ShardFetcher::shard_of(const std::string& file) const {
  const auto found = by_name_.find(fs::path(file).filename().string());
  MG_CHECK(found != by_name_.end());
  return found->second;
}

bool ShardFetcher::has(const Shards& shards) const {
  return std::all_of(shards.begin(), shards.end(), [&](std::uint32_t shard) { return cache_->has(shard); });
}

void ShardFetcher::prefetch(const Shards& shards) {
  wanted_.assign(shards.begin(), shards.end());
  told_all_ = has(shards);
}

Result<std::optional<net::Message>> ShardFetcher::wait(const Shards& shards, std::uint64_t round) {
  if (has(shards)) return std::optional<net::Message>();
  wanted_.insert(wanted_.begin(), shards.begin(), shards.end());
  is_waited_for_ = true;
  told_at_ = clock().now();
  Result<std::optional<net::Message>> message = std::optional<net::Message>();
  while (!has(shards) && failure_.ok()) {
    message = recv_once({0}, {kWorkTag}, clock().after(kTellEvery));
    if (message.ok() ? message->has_value() : message.code() != Code::deadline_exceeded) break;
    tell_leader(round);
    message = std::optional<net::Message>();
  }
  is_waited_for_ = false;
  if (!has(shards) && !failure_.ok()) return failure_.error();
  return message;
}

/// Who gets on may take longer.
void ShardFetcher::tell_leader(std::uint64_t round) {
  if (clock().now() - told_at_ < patience_ || fetched_ == 0) return;
  told_at_ = clock().now();
  Answer answer;
  answer.set_round(round);
  answer.set_fetched(fetched_);
  inner().send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

/// Goes elsewhere where a source is gone, and begins what there is room for.
Deadline ShardFetcher::attend() {
  if (!cache_) return Deadline::never();
  const net::Members members = inner().members();
  for (auto fetch = fetches_.begin(); fetch != fetches_.end();) {
    const auto now = fetch++;  // which may go
    if (now->second.source != kNobody && !members.alive(now->second.source)) give_up(now, "lost");
  }
  start_fetches();
  Deadline first = Deadline::never();
  for (const auto& [shard, fetch] : fetches_) first = std::min(first, fetch.silent_at);
  return first;
}

/// Only who has not even a message waiting here is silent: this rank may have been busy for long itself.
void ShardFetcher::nothing_came() {
  const Instant time = clock().now();
  for (auto fetch = fetches_.begin(); fetch != fetches_.end();) {
    const auto now = fetch++;  // which may go
    if (time >= now->second.silent_at) give_up(now, "silent");
  }
}

void ShardFetcher::start_fetches() {
  const std::size_t most = is_waited_for_ ? 2 * kShardsAtOnce : kShardsAtOnce;
  while (!wanted_.empty() && fetches_.size() < most) {
    const std::uint32_t shard = wanted_.front();
    wanted_.pop_front();
    if (cache_->has(shard) || fetches_.contains(shard)) continue;
    fetches_[shard].silent_at = clock().after(patience_);
    ShardMessage message;
    message.mutable_want()->set_shard(shard);
    send(0, message);
  }
}

void ShardFetcher::take(net::Rank from, const ShardMessage& message, std::string_view body) {
  if (message.has_list() && from == 0 && !list_) list_ = message.list();
  if (!cache_) return;
  if (message.has_source() && from == 0) take_source(message.source());
  if (message.has_part()) take_part(from, message.part(), body);
}

void ShardFetcher::take_source(const ShardMessage::Source& source) {
  const auto found = fetches_.find(source.shard());
  if (found == fetches_.end()) return;
  Fetch& fetch = found->second;
  fetch.source = source.rank();
  fetch.sha256 = source.sha256();
  fetch.asked = 0;
  fetch.outstanding.clear();
  fetch.silent_at = clock().after(patience_);
  ask_more(source.shard(), fetch);
}

void ShardFetcher::ask_more(std::uint32_t shard, Fetch& fetch) {
  while (fetch.outstanding.size() < kPartsAtOnce && fetch.asked < outline(shard).size) {
    ShardMessage message;
    message.mutable_read()->set_shard(shard);
    message.mutable_read()->set_offset(fetch.asked);
    send(fetch.source, message);
    fetch.outstanding.insert(fetch.asked);
    fetch.asked += kShardPart;
  }
}

void ShardFetcher::take_part(net::Rank from, const ShardMessage::Part& part, std::string_view body) {
  const auto found = fetches_.find(part.shard());
  if (found == fetches_.end()) return;
  Fetch& fetch = found->second;
  if (fetch.source != from || fetch.outstanding.erase(part.offset()) == 0) return;  // it came twice, or late
  if (body.empty()) return give_up(found, "has it not");
  const Bytes size = outline(part.shard()).size;
  if (static_cast<Bytes>(body.size()) != std::min(kShardPart, size - part.offset())) return give_up(found, "corrupt");
  if (Status written = cache_->write(part.shard(), part.offset(), body); !written.ok())
    return fail(found, written.error());
  fetched_ += static_cast<Bytes>(body.size());
  fetch.silent_at = clock().after(patience_);
  ask_more(part.shard(), fetch);
  if (fetch.outstanding.empty()) finish(found);
}

void ShardFetcher::finish(Fetches::iterator fetch) {
  const std::uint32_t shard = fetch->first;
  const Status finished = cache_->finish(shard, fetch->second.sha256);
  if (!finished.ok())
    return finished.code() == Code::data_loss ? give_up(fetch, "corrupt") : fail(fetch, finished.error());
  fetches_.erase(fetch);
  const bool is_last = !told_all_ && fetches_.empty() && has({wanted_.begin(), wanted_.end()});
  told_all_ = told_all_ || is_last;
  tell_have({shard}, is_last);
}

/// Another source is asked for, unless there were too many.
void ShardFetcher::give_up(Fetches::iterator fetch, const std::string& reason) {
  const std::uint32_t shard = fetch->first;
  const net::Rank source = fetch->second.source;
  const int failures = fetch->second.failures + 1;
  const std::string who = source == kNobody ? "the coordinator" : net::node_name(inner(), source);
  if (failures > kMostFailures) {
    return fail(fetch, make_error(Code::data_loss, outline(shard).name + ": nobody gives it as it should be: tried " +
                                                       std::to_string(failures) + " times, the last was " + who + ": " +
                                                       reason));
  }
  fetch->second = Fetch{.silent_at = clock().after(patience_), .failures = failures};
  ShardMessage message;
  ShardMessage::Want& want = *message.mutable_want();
  want.set_shard(shard);
  if (source != kNobody) {
    want.set_refused(source);
    want.set_reason(reason);
  }
  send(0, message);
}

void ShardFetcher::fail(Fetches::iterator fetch, const Error& error) {
  fetches_.erase(fetch);
  failure_ = error;
}

void ShardFetcher::tell_have(const Shards& shards, bool all) {
  ShardMessage message;
  message.mutable_have()->mutable_shards()->Add(shards.begin(), shards.end());
  message.mutable_have()->set_all(all);
  send(0, message);
}

Result<std::string> ShardFetcher::read(std::uint32_t shard, Bytes offset) const {
  if (!cache_) return make_error(Code::failed_precondition, "the list of the shards has not come");
  return cache_->read(shard, offset, kShardPart);
}

}  // namespace mangrove::train

#include "mangrove/net/peer_links.h"

#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "mangrove/base/log.h"

namespace mangrove::net {
namespace {

constexpr Seconds kTick = 1;
constexpr Seconds kFirstBackoff = 0.05;
constexpr Seconds kLongestBackoff = 2;
constexpr Seconds kUnusedLimit = 30;  // then a link without users that makes no progress is given up
// gRPC ends a cancelled stream at once, unless the connection takes no more bytes because the peer is frozen: then only
// after kKeepaliveTimeoutMs. Nobody waits for that.
constexpr Seconds kAbortLimit = 0.5;
// For one attempt to connect. When many peers shake hands at once, a slow board needs seconds for all of them, and what
// is given up and begun again only adds to its work.
constexpr int kConnectMs = 10'000;
constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 20'000;  // a ping may have to queue behind some MB of data on a slow line

/// A name that no other link has, not even one of a former process at the same address: the receiver knows by it what
/// it has got already. Nothing that a job computes depends on it.
std::string new_link_id() {
  std::uint64_t id = 0;
  MG_CHECK_MSG(getentropy(&id, sizeof id) == 0, "the system gives no random bytes");
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, id);
  return text;
}

std::shared_ptr<grpc::Channel> new_channel(const Destination& to, const Credentials* own) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  // a connection of its own: bulk data must not delay the heartbeats that another channel carries to the same address
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // a connection that died without a word, e.g. by a power cut, has to break some time
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Links repeat by themselves what was not receipted. gRPC's own repetition of a call that the server did not take may
  // leave out a message (1.51).
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetSslTargetNameOverride(identity::kServerName);
  const std::vector<identity::Role> servers = {identity::Role::node, identity::Role::coordinator};
  return grpc::CreateCustomChannel(to.address, channel_credentials(own, servers, to.subject), arguments);
}

bool given_up(const Link& link, Instant now) {
  return link.users == 0 && now - link.last_progress > kUnusedLimit;
}

}  // namespace

PeerLinks::PeerLinks(std::function<void()> each_second, std::shared_ptr<const Credentials> credentials)
    : each_second_(std::move(each_second)),
      credentials_(std::move(credentials)),
      table_(std::make_shared<LinkTable>()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

PeerLinks::~PeerLinks() {
  shutdown(0);
  thread_.request_stop();
  table_->changed.notify_all();
  thread_.join();
  std::vector<Link> closed;  // freed without the lock: the last channel waits for gRPC's threads
  MutexLock lock(table_->mutex);
  for (auto entry = table_->links.begin(); entry != table_->links.end();) {
    Link& link = entry->second;
    if (!link.stream || link.state.ended) {
      closed.push_back(std::move(link));
      entry = table_->links.erase(entry);
      continue;
    }
    link.queue = {};
    if (std::exchange(link.state.held, false)) link.stream->RemoveHold();
    link.stream->abandon(link.stream);
    ++entry;
  }
}

void PeerLinks::add_user(const Destination& to) {
  MutexLock lock(table_->mutex);
  Link& link = table_->links[to];
  if (!link.stub) {
    link.to = to;
    link.id = new_link_id();
    link.stub = Peer::NewStub(new_channel(to, credentials_.get()));
  }
  ++link.users;
}

void PeerLinks::remove_user(const Destination& to) {
  MutexLock lock(table_->mutex);
  Link& link = table_->links.at(to);
  if (--link.users > 0) return;
  link.queue.forget_lost();
  link.last_progress = table_->clock.now();
}

void PeerLinks::send(const Destination& to, std::unique_ptr<Outgoing> message) {
  MutexLock lock(table_->mutex);
  if (phase_ != Phase::running) return;
  table_->links.at(to).queue.push(std::move(message));
  table_->changed.notify_all();
}

Bytes PeerLinks::queued_bytes(const Destination& to, const std::string& job, Rank rank, Tag tag) const {
  MutexLock lock(table_->mutex);
  return table_->links.at(to).queue.queued_bytes(job, rank, tag);
}

void PeerLinks::drop(const Destination& to, const std::string& job, Rank rank) {
  MutexLock lock(table_->mutex);
  Link& link = table_->links.at(to);
  link.queue.drop(job, rank);
  const Outgoing* in_flight = link.state.in_flight.get();
  // a frozen process would keep a large message in our memory
  if (in_flight && in_flight->envelope.job() == job && in_flight->envelope.to() == rank) link.state.to_cancel = true;
  table_->changed.notify_all();
}

void PeerLinks::shutdown(Seconds grace) {
  MutexLock lock(table_->mutex);
  if (phase_ == Phase::aborting) return;
  phase_ = Phase::draining;
  table_->changed.notify_all();
  if (wait_closed(grace)) return;
  phase_ = Phase::aborting;
  table_->changed.notify_all();
  if (!wait_closed(kAbortLimit)) log_debug("a frozen peer keeps its stream from ending");
}

bool PeerLinks::wait_closed(Seconds limit) {
  const auto all_closed = [](const auto& links, bool aborting) {
    return std::ranges::all_of(
        links, [=](const auto& entry) { return !entry.second.stream && (aborting || entry.second.queue.empty()); });
  };
  const Deadline deadline = table_->clock.after(limit);
  while (!all_closed(table_->links, phase_ == Phase::aborting)) {
    const Seconds left = deadline - table_->clock.now();
    if (left <= 0) return false;
    table_->changed.wait_for(table_->mutex, left);
  }
  return true;
}

void PeerLinks::run(const std::stop_token& stop) {
  Instant next_tick = table_->clock.after(kTick);
  while (!stop.stop_requested()) {
    std::vector<Step> steps;
    std::vector<Link> unused;
    {
      MutexLock lock(table_->mutex);
      steps = plan(unused);
      const Instant now = table_->clock.now();
      if (steps.empty() && now < next_tick) {
        table_->changed.wait_for(table_->mutex, std::min(next_tick - now, idle_time(now)));
      }
    }
    for (const Step& step : steps) perform(step);
    if (table_->clock.now() >= next_tick) {
      each_second_();
      next_tick = table_->clock.after(kTick);
    }
  }
}

Seconds PeerLinks::idle_time(Instant now) const {
  Seconds time = kTick;
  for (const auto& [to, link] : table_->links) {
    if (!link.stream && !link.queue.empty()) time = std::min(time, std::max(0.001, link.retry_at - now));
  }
  return time;
}

std::vector<PeerLinks::Step> PeerLinks::plan(std::vector<Link>& unused) {
  std::vector<Step> steps;
  const Instant now = table_->clock.now();
  for (auto entry = table_->links.begin(); entry != table_->links.end();) {
    Link& link = entry->second;
    if (std::optional<Step> step = plan(link, now)) steps.push_back(std::move(*step));
    const bool erase = !link.stream && given_up(link, now);
    if (erase) unused.push_back(std::move(link));
    entry = erase ? table_->links.erase(entry) : std::next(entry);
  }
  return steps;
}

std::optional<PeerLinks::Step> PeerLinks::plan(Link& link, Instant now) {
  if (link.stream && link.state.ended) collect(link, now);
  if (link.stream) return plan_open_stream(link, now);
  if (phase_ == Phase::aborting || link.queue.empty() || now < link.retry_at || given_up(link, now))
    return std::nullopt;
  link.state = {};
  link.stream = std::make_shared<PeerStream>(table_, link);
  return Step{Action::open, link.stream, nullptr};
}

std::optional<PeerLinks::Step> PeerLinks::plan_open_stream(Link& link, Instant now) {
  StreamState& state = link.state;
  if (state.broken || state.cancelled) {
    if (!std::exchange(state.held, false)) return std::nullopt;
    return Step{Action::release, link.stream, nullptr};
  }
  if (phase_ == Phase::aborting || state.to_cancel || given_up(link, now)) {
    state.cancelled = true;
    return Step{Action::cancel, link.stream, nullptr};
  }
  if (state.in_flight || state.half_closed) return std::nullopt;
  if (link.queue.has_next()) {
    state.in_flight = link.queue.next();
    return Step{Action::write, link.stream, state.in_flight};
  }
  if (phase_ == Phase::running) return std::nullopt;
  state.half_closed = true;
  state.held = false;
  return Step{Action::half_close, link.stream, nullptr};
}

void PeerLinks::perform(const Step& step) {
  switch (step.action) {
    case Action::open:
      return step.stream->open();
    case Action::write:
      return step.stream->StartWrite(&step.in_flight->envelope);
    case Action::half_close:
      step.stream->StartWritesDone();
      return step.stream->RemoveHold();
    case Action::release:
      return step.stream->RemoveHold();
    case Action::cancel:
      return step.stream->cancel();
  }
}

void PeerLinks::collect(Link& link, Instant now) {
  const bool expected = link.state.half_closed || link.state.cancelled;
  if (!expected && link.users > 0)
    log_warn("stream to peer broke", {{"address", link.to.address}, {"error", link.state.error}});
  // the connection was made with a certificate that has expired; there may be a younger one, for a new connection
  if (link.state.refused) link.stub = Peer::NewStub(new_channel(link.to, credentials_.get()));
  link.stream = nullptr;
  link.queue.rewind();
  link.backoff = std::clamp(2 * link.backoff, kFirstBackoff, kLongestBackoff);
  link.retry_at = now + link.backoff;
  table_->changed.notify_all();  // to wait_closed()
}

}  // namespace mangrove::net

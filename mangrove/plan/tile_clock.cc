#include "mangrove/plan/tile_clock.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace mangrove::plan {
namespace {

Seconds byte_time(BytesPerSecond rate) {
  return rate > 0 ? 1 / rate : 0;
}

}  // namespace

TileLinks::TileLinks(const TileProblem& problem) : devices_(problem.devices), pairs_(devices() * devices()) {
  for (const TileDevice& device : devices_) link_bytes_.push_back(byte_time(device.rate));
  for (std::size_t from = 0; from < devices(); ++from) {
    for (std::size_t to = 0; to < devices(); ++to) {
      Pair& pair = pairs_[from * devices() + to];
      pair.delay = devices_[from].delay + devices_[to].delay;
      const auto way = problem.ways.find(std::minmax(from, to));
      if (way == problem.ways.end()) continue;
      pair.delay += way->second.delay;
      pair.byte = byte_time(way->second.rate);
      has_slow_ways_ = has_slow_ways_ || pair.byte > 0;
    }
  }
}

Seconds TileLinks::message_time(std::size_t from, std::size_t to, Bytes bytes) const {
  const Seconds byte = std::max({link_byte(from), way_byte(from, to), link_byte(to)});
  return handling(from, bytes) + static_cast<double>(bytes) * byte + delay(from, to) + handling(to, bytes);
}

TileClock::TileClock(const TileLinks& links)
    : links_(&links), devices_(links.devices()), ways_(links.has_slow_ways() ? links.devices() * links.devices() : 0) {}

TileClock::Moment TileClock::after(const Moment& begin, Seconds seconds, std::size_t from, std::size_t to) {
  if (remembers_) activities_.push_back({from, to, begin.activity, seconds});
  return {begin.at + seconds, activities_.size()};
}

void TileClock::work(std::size_t device, Seconds seconds) {
  Use& use = devices_[device];
  use.processor = after(use.processor, seconds, device, device);
  use.busy += seconds;
}

TileClock::Moving TileClock::pack(const TileMessage& message) {
  const auto& [from, to, bytes] = message;
  work(from, links_->handling(from, bytes));
  Use& use = devices_[from];
  use.sent += bytes;
  sent_ += bytes;
  const Moment begin = later(use.processor, use.sending);
  return {&message, begin, begin};
}

/// All at once, as connections share a link: each that is under way has the same part of its rate.
void TileClock::send(std::span<Moving> messages) {
  if (messages.empty()) return;
  const std::size_t from = messages.front().message->from;
  std::vector<Seconds> left;  // that each would take alone
  for (const Moving& each : messages)
    left.push_back(static_cast<double>(each.message->bytes) * links_->link_byte(from));
  std::vector<bool> is_done(messages.size(), false);
  Seconds now = messages.front().begin.at;
  for (std::size_t done = 0; done < messages.size();) {
    double sharing = 0;
    Seconds next = std::numeric_limits<Seconds>::infinity();  // when one more begins
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (is_done[i]) continue;
      if (messages[i].begin.at <= now) ++sharing;
      if (messages[i].begin.at > now) next = std::min(next, messages[i].begin.at);
    }
    if (sharing == 0) {
      now = next;
      continue;
    }
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (!is_done[i] && messages[i].begin.at <= now) next = std::min(next, now + left[i] * sharing);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (is_done[i] || messages[i].begin.at > now) continue;
      const Seconds needed = left[i] * sharing;
      left[i] -= (next - now) / sharing;
      if (now + needed > next) continue;
      is_done[i] = true;
      ++done;
      messages[i].end = after(messages[i].begin, next - messages[i].begin.at, from, messages[i].message->to);
    }
    now = next;
  }
  Use& use = devices_[from];
  for (const Moving& each : messages) use.sending = later(use.sending, each.end);
}

void TileClock::deliver(Moving& moving) {
  const std::size_t from = moving.message->from, to = moving.message->to;
  const Bytes bytes = moving.message->bytes;
  const auto pass = [&](Moment& free, Seconds byte) {
    moving.begin = later(moving.begin, free);
    free = after(moving.begin, static_cast<double>(bytes) * byte, from, to);
    moving.end = later(moving.end, free);
  };
  if (!ways_.empty()) {
    WayUse& way = ways_[from * links_->devices() + to];
    pass(way.free, links_->way_byte(from, to));
    way.bytes += bytes;
  }
  pass(devices_[to].receiving, links_->link_byte(to));
  devices_[to].received += bytes;
  moving.end = after(moving.end, links_->delay(from, to), from, to);
}

void TileClock::carry(std::span<const TileMessage> messages) {
  std::vector<Moving> moving;
  moving.reserve(messages.size());
  for (const TileMessage& message : messages) moving.push_back(pack(message));
  std::ranges::stable_sort(moving, {}, [](const Moving& each) { return each.message->from; });
  for (auto first = moving.begin(); first != moving.end();) {
    const auto last = std::find_if(first, moving.end(),
                                   [&](const Moving& each) { return each.message->from != first->message->from; });
    send({first, last});
    first = last;
  }
  const auto sort_by = [&](Moment Moving::*when) {
    std::ranges::sort(moving, [&](const Moving& a, const Moving& b) {
      return std::pair((a.*when).at, a.message) < std::pair((b.*when).at, b.message);
    });
  };
  sort_by(&Moving::begin);
  for (Moving& each : moving) deliver(each);
  sort_by(&Moving::end);
  for (const Moving& each : moving) {
    Use& use = devices_[each.message->to];
    use.processor = later(use.processor, each.end);
    work(each.message->to, links_->handling(each.message->to, each.message->bytes));
  }
}

bool TileClock::is_nowhere_sooner(const TileClock& other) const {
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (done(d) < other.done(d)) return false;
  return true;
}

TileClock::BusyTime TileClock::busiest_use() const {
  BusyTime most;
  const auto add = [&](const BusyTime& time) {
    if (time.seconds > most.seconds) most = time;
  };
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    add({devices_[d].busy, d, d});
    add({static_cast<double>(std::max(devices_[d].sent, devices_[d].received)) * links_->link_byte(d), d, kAnybody});
  }
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const std::size_t from = i / devices_.size(), to = i % devices_.size();
    add({static_cast<double>(ways_[i].bytes) * links_->way_byte(from, to), from, to});
  }
  return most;
}

std::string TileClock::name(std::size_t from, std::size_t to) const {
  const std::string& of_from = links_->device(from).name;
  if (from == to) return "computing on " + of_from;
  if (to == kAnybody) return "the link of " + of_from;
  return "the way from " + of_from + " to " + links_->device(to).name;
}

std::string TileClock::busiest() const {
  const BusyTime most = busiest_use();
  return name(most.from, most.to);
}

std::string TileClock::longest_wait(std::size_t device) const {
  std::map<std::pair<std::size_t, std::size_t>, Seconds> spent = {{{device, device}, 0}};
  for (std::size_t next = devices_[device].processor.activity; next > 0;) {
    const Activity& activity = activities_[next - 1];
    spent[{activity.from, activity.to}] += activity.seconds;
    next = activity.before;
  }
  const auto& [from, to] = std::ranges::max_element(spent, {}, [](const auto& each) { return each.second; })->first;
  return name(from, to);
}

}  // namespace mangrove::plan

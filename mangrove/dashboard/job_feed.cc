#include "mangrove/dashboard/job_feed.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/json_dump.h"

namespace mangrove::dashboard {
namespace {

constexpr std::size_t kMostOfAName = 10'000;  // entries; older ones are forgotten
constexpr std::size_t kMostFeeds = 32;        // half of the calls that the coordinator lets one member have open
constexpr Seconds kWakeEvery = 0.2;

/// How many entries of this name are of use to somebody who comes later.
std::size_t most_kept(const std::string& name) {
  const bool is_superseded =
      name == report_kind_name(ReportKind::progress) || name == report_kind_name(ReportKind::nodes);
  return is_superseded ? 1 : kMostOfAName;
}

/// Of a job of which the coordinator has told the end.
const char* state_after(const Status& ended) {
  if (ended.ok()) return "done";
  return ended.code() == Code::cancelled ? "stopped" : "failed";
}

}  // namespace

JobFeed::JobFeed(std::string job, Connect connect) : job_(std::move(job)), connect_(std::move(connect)) {
  follower_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
}

void JobFeed::follow(const std::stop_token& stop) {
  const auto tell = [this](Report report) { add(report_kind_name(report.kind), std::move(report.json)); };
  const auto client = connect_(stop);
  const Status ended = client.ok() ? (*client)->follow(job_, tell, stop, /*from_beginning=*/true) : client.error();
  if (stop.stop_requested()) return;  // nobody reads it any more
  const bool has_end = client.ok() && (*client)->has_told_end();
  bool is_refused = false;
  {
    const MutexLock lock(mutex_);
    is_refused = has_end && !ended.ok() && ended.code() == Code::permission_denied && entries_.empty();
    is_stale_ = !has_end || is_refused;
  }
  const char* const state = !has_end ? "lost" : is_refused ? "refused" : state_after(ended);
  add(kEnd, dump(nlohmann::json{{"state", state}, {"message", ended.ok() ? "" : ended.error().message}}));
}

/// Whether one of these entries says the same: after a broken link, a job is told from its beginning again.
bool JobFeed::is_told(const std::vector<std::uint64_t>& numbers, const std::string& json) const {
  for (const std::uint64_t number : numbers)
    if (entries_.at(number).json == json) return true;
  return false;
}

void JobFeed::add(std::string name, std::string json) {
  const MutexLock lock(mutex_);
  std::vector<std::uint64_t>& alike = numbers_[name];
  if (most_kept(name) > 1 && is_told(alike, json)) return;
  const std::uint64_t number = ++last_;
  if (alike.size() == most_kept(name)) {
    entries_.erase(alike.front());
    alike.erase(alike.begin());
  }
  alike.push_back(number);
  entries_[number] = {.number = number, .name = std::move(name), .json = std::move(json)};
  changed_.notify_all();
}

std::vector<JobFeed::Entry> JobFeed::wait_for_more(std::uint64_t number, Seconds at_most, const std::stop_token& stop) {
  const SteadyClock clock;
  const Deadline deadline = clock.after(at_most);
  const MutexLock lock(mutex_);
  while (last_ <= number && !stop.stop_requested() && clock.now() < deadline)
    changed_.wait_for(mutex_, std::min(kWakeEvery, deadline - clock.now()));
  std::vector<Entry> more;
  for (auto entry = entries_.upper_bound(number); entry != entries_.end(); ++entry) more.push_back(entry->second);
  return more;
}

bool JobFeed::is_stale() const {
  const MutexLock lock(mutex_);
  return is_stale_;
}

/// Takes out the feed that was read the longest time ago and is not read now. Null: there is none.
std::shared_ptr<JobFeed> JobFeeds::make_place() {
  auto oldest = feeds_.end();
  for (auto row = feeds_.begin(); row != feeds_.end(); ++row) {
    const bool is_read = row->second.feed.use_count() > 1;
    if (!is_read && (oldest == feeds_.end() || row->second.used < oldest->second.used)) oldest = row;
  }
  if (oldest == feeds_.end()) return nullptr;
  std::shared_ptr<JobFeed> feed = std::move(oldest->second.feed);
  feeds_.erase(oldest);
  return feed;
}

Result<std::shared_ptr<JobFeed>> JobFeeds::find(const std::string& job) {
  std::shared_ptr<JobFeed> dropped;  // ends after the lock: its thread may take a while
  const MutexLock lock(mutex_);
  if (const auto known = feeds_.find(job); known != feeds_.end() && known->second.feed->is_stale()) {
    dropped = std::move(known->second.feed);
    feeds_.erase(known);
  }
  if (!feeds_.contains(job)) {
    if (feeds_.size() >= kMostFeeds && (dropped = make_place()) == nullptr)
      return make_error(Code::resource_exhausted, "too many jobs are followed at once; close some pages");
    feeds_[job].feed = std::make_shared<JobFeed>(job, connect_);
  }
  Row& row = feeds_[job];
  row.used = ++uses_;
  return row.feed;
}

}  // namespace mangrove::dashboard

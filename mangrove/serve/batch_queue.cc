#include "mangrove/serve/batch_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mangrove/base/format.h"

namespace mangrove::serve {

std::int64_t samples_of(std::span<const BatchPart> parts) {
  std::int64_t samples = 0;
  for (const BatchPart& part : parts) samples += part.count;
  return samples;
}

std::vector<BatchPart> take_samples(std::vector<BatchPart>& parts, std::int64_t count) {
  std::vector<BatchPart> taken;
  auto next = parts.begin();
  for (; next != parts.end() && count > 0; ++next) {
    BatchPart& part = taken.emplace_back(*next);
    part.count = std::min(part.count, count);
    count -= part.count;
    if (part.count == next->count) continue;
    next->first += part.count;
    next->count -= part.count;
    break;
  }
  parts.erase(parts.begin(), next);
  return taken;
}

Status BatchQueue::check_room(const RequestContent& content) const {
  if (is_closed_) return make_error(Code::unavailable, "it is being unloaded");
  if (std::ssize(waiting_) >= options_.max_requests)
    return make_error(Code::resource_exhausted, fmt::format("{} wait, and max_queue allows no more; try again later",
                                                            format_things(std::ssize(waiting_), "request")));
  if (content.bytes > options_.max_bytes - bytes_)
    return make_error(Code::resource_exhausted,
                      fmt::format("unanswered requests take {} and this one {}; queue_bytes allows {}; try again later",
                                  format_bytes(bytes_), format_bytes(content.bytes), format_bytes(options_.max_bytes)));
  return {};
}

Status BatchQueue::push(std::shared_ptr<PendingRequest> request) {
  const MutexLock lock(mutex_);
  const RequestContent& content = request->content();
  MG_RETURN_IF_ERROR(check_room(content));
  const Place place{content.priority, arrived_++};
  if (content.deadline < Deadline::never()) deadlines_.emplace(content.deadline, place);
  samples_ += content.samples;
  bytes_ += content.bytes;
  waiting_.emplace(place, Waiting{std::move(request)});
  // all: an instance that is woken alone may take a full batch and leave others asleep that have to wake earlier now
  changed_.notify_all();
  return {};
}

void BatchQueue::remove(Requests::iterator entry) {
  deadlines_.erase({entry->second.request->content().deadline, entry->first});
  samples_ -= entry->second.left();
  waiting_.erase(entry);
}

void BatchQueue::take_expired(Instant now, Batch& batch) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto entry = waiting_.find(deadlines_.begin()->second);
    batch.expired.push_back(entry->second.request);
    remove(entry);
  }
}

/// When the next batch begins, as far as is known now.
Instant BatchQueue::start_of_batch(Instant now) const {
  if (waiting_.empty()) return Instant::never();
  if (is_closed_ || !options_.combines || samples_ >= options_.max_batch) return now;
  Instant start = Instant::never();
  for (const auto& [place, entry] : waiting_) start = std::min(start, entry.request->content().latest_start);
  return start;
}

void BatchQueue::fill(Batch& batch) {
  for (std::int64_t room = options_.max_batch; room > 0 && !waiting_.empty();) {
    const auto entry = waiting_.begin();
    Waiting& first = entry->second;
    const std::int64_t count = std::min(room, first.left());
    batch.parts.push_back({first.request, first.taken, count});
    first.taken += count;
    samples_ -= count;
    room -= count;
    if (first.left() == 0) remove(entry);
    if (!options_.combines) return;
  }
}

std::optional<Batch> BatchQueue::take() {
  const MutexLock lock(mutex_);
  for (;;) {
    const Instant now = clock_.now();
    Batch batch;
    take_expired(now, batch);
    if (waiting_.empty() && is_closed_ && batch.expired.empty()) return std::nullopt;
    const Instant start = start_of_batch(now);
    if (start <= now) fill(batch);
    if (!batch.parts.empty() || !batch.expired.empty()) return batch;
    changed_.wait_for(mutex_, start - now);  // for long where none waits
  }
}

void BatchQueue::release(Bytes bytes) {
  const MutexLock lock(mutex_);
  bytes_ -= bytes;
}

void BatchQueue::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

std::int64_t BatchQueue::waiting() const {
  const MutexLock lock(mutex_);
  return std::ssize(waiting_);
}

}  // namespace mangrove::serve

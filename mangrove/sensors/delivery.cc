#include "mangrove/sensors/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "mangrove/base/log.h"

namespace mangrove::sensors {
namespace {

constexpr std::int64_t kMostInFlightOfSink = 100;
constexpr Seconds kTellEvery = 10;
constexpr Seconds kAgainAfter = 0.5;  // a letter that was returned
constexpr std::size_t kMostNotRemoved = 10'000;

}  // namespace

Delivery::Delivery(std::unique_ptr<DiskOutbox> disk, Bytes memory)
    : disk_(std::move(disk)), memory_(memory_outbox(memory)), origin_(disk_ ? disk_->origin() : new_origin()) {}

std::vector<Outbox*> Delivery::outboxes() const {
  if (disk_ == nullptr) return {memory_.get()};
  return {disk_.get(), memory_.get()};
}

/// Links hand it back: numbers of both outboxes in one.
std::uint64_t Delivery::token_of(const Outbox& outbox, std::int64_t number) const {
  return 2 * static_cast<std::uint64_t>(number) + (&outbox == memory_.get() ? 1 : 0);
}

void Delivery::disk_failed(const Error& error, Instant now) {
  ++disk_errors_;
  if (now - told_ < kTellEvery) return;
  told_ = now;
  log_error("offline buffer cannot be used; answers wait in memory", {{"why", error.message}});
}

void Delivery::put(const std::vector<Letter>& letters, const std::vector<std::string>& seen, Instant now) {
  if (letters.empty() && seen.empty()) return;
  for (auto& [name, sink] : sinks_)
    for (auto& [outbox, place] : sink.places) place.has_more = true;
  if (disk_ != nullptr) {
    const Status stored = disk_->put(letters, seen);
    if (stored.ok()) return;
    disk_failed(stored.error(), now);
  }
  (void)memory_->put(letters, seen);  // has no errors
}

bool Delivery::has_seen(const std::string& id, Instant now) {
  if (disk_ == nullptr) return false;
  const auto seen = disk_->has_seen(id);
  if (!seen.ok()) disk_failed(seen.error(), now);
  return seen.ok() && *seen;
}

std::string Delivery::next_id(Instant now) {
  if (disk_ != nullptr) {
    const auto number = disk_->next_number();
    if (number.ok()) return fmt::format("{}-{}", *number, origin_);
    disk_failed(number.error(), now);
  }
  return fmt::format("{}-{}{}", ++last_number_, origin_, disk_ == nullptr ? "" : "m");
}

void Delivery::forget(const std::vector<std::uint64_t>& tokens, Instant now) {
  std::vector<std::int64_t> on_disk = std::exchange(not_removed_, {}), in_memory;
  for (const std::uint64_t token : tokens) {
    const auto found = sink_of_token_.find(token);
    if (found == sink_of_token_.end()) continue;
    --found->second->in_flight;
    for (auto& [outbox, place] : found->second->places) place.has_more = true;
    sink_of_token_.erase(found);
    (token % 2 == 1 ? in_memory : on_disk).push_back(static_cast<std::int64_t>(token / 2));
  }
  (void)memory_->remove(in_memory);  // has no errors
  if (on_disk.empty() || disk_ == nullptr) return;
  const Status removed = disk_->remove(on_disk);
  if (removed.ok()) return;
  disk_failed(removed.error(), now);
  if (on_disk.size() <= kMostNotRemoved) not_removed_ = std::move(on_disk);
}

void Delivery::send_again(const std::vector<std::uint64_t>& tokens, Instant now) {
  for (const std::uint64_t token : tokens) {
    const auto found = sink_of_token_.find(token);
    if (found == sink_of_token_.end()) continue;
    Sink& sink = *found->second;
    const Outbox* const outbox = token % 2 == 1 ? memory_.get() : static_cast<const Outbox*>(disk_.get());
    sink.places[outbox].returned.insert(static_cast<std::int64_t>(token / 2));
    sink.again = now + kAgainAfter;
    --sink.in_flight;
    for (auto& [any, place] : sink.places) place.has_more = true;
    sink_of_token_.erase(found);
  }
}

Result<std::vector<Letter>> Delivery::next_letters(Outbox& outbox, const std::string& name, Place& place,
                                                   std::int64_t room) {
  std::vector<Letter> letters;
  for (auto it = place.returned.begin(); it != place.returned.end() && std::ssize(letters) < room;) {
    MG_TRY(std::vector<Letter> found, outbox.after(name, *it - 1, 1));
    const bool is_there = !found.empty() && found.front().number == *it;
    if (is_there) letters.push_back(std::move(found.front()));
    it = is_there ? std::next(it) : place.returned.erase(it);  // it had to make room for others
  }
  if (!letters.empty()) return letters;
  MG_TRY(letters, outbox.after(name, place.last, room));
  place.has_more = std::ssize(letters) == room;
  return letters;
}

void Delivery::send_from(Outbox& outbox, const std::string& name, Sink& sink, Instant now) {
  Place& place = sink.places[&outbox];
  const std::int64_t room = kMostInFlightOfSink - sink.in_flight;
  if (!place.has_more || room <= 0) return;
  const auto letters = next_letters(outbox, name, place, room);
  if (!letters.ok()) return disk_failed(letters.error(), now);
  for (const Letter& letter : *letters) {
    const std::uint64_t token = token_of(outbox, letter.number);
    sink_of_token_[token] = &sink;  // first, since the sink may confirm at once
    ++sink.in_flight;
    const Status sent = sink.link->send(token, letter.topic, letter.payload);
    if (!sent.ok() && sent.code() == Code::unavailable) {
      sink_of_token_.erase(token);
      --sink.in_flight;
      place.has_more = true;
      return;
    }
    place.returned.erase(letter.number);
    place.last = std::max(place.last, letter.number);
    if (sent.ok()) continue;
    ++refused_;
    log_warn("answer cannot be sent", {{"sink", name}, {"why", sent.error().message}});
    forget({token}, now);
  }
}

void Delivery::pump(const std::vector<Receipt>& receipts, Instant now) {
  std::vector<std::uint64_t> done, returned;
  for (const Receipt& receipt : receipts) {
    (receipt.fate == Fate::returned ? returned : done).push_back(receipt.token);
    sent_ += receipt.fate == Fate::confirmed ? 1 : 0;
    refused_ += receipt.fate == Fate::refused ? 1 : 0;
  }
  if (!done.empty() || !not_removed_.empty()) forget(done, now);
  send_again(returned, now);
  for (auto& [name, sink] : sinks_) {
    if (!sink.link->is_connected() || now < sink.again) continue;
    for (Outbox* const outbox : outboxes()) send_from(*outbox, name, sink, now);
  }
}

std::uint64_t Delivery::unsent() const {
  std::uint64_t count = 0;
  for (const Outbox* const outbox : outboxes()) count += outbox->dropped();
  return count;
}

std::uint64_t Delivery::waiting() const {
  std::int64_t count = 0;
  for (const Outbox* const outbox : outboxes()) count += outbox->waiting();
  return static_cast<std::uint64_t>(count);
}

std::int64_t Delivery::in_flight() const {
  return static_cast<std::int64_t>(sink_of_token_.size());
}

}  // namespace mangrove::sensors

#include "mangrove/sensors/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <random>
#include <tuple>
#include <utility>

#include "mangrove/cluster/sqlite.h"

namespace mangrove::sensors {
namespace {

using cluster::Database;

constexpr std::int64_t kReservedAtOnce = 1000;  // numbers, so that not each message writes to the disk
constexpr std::int64_t kDroppedAtOnce = 64;     // letters

class MemoryOutbox final : public Outbox {
 public:
  explicit MemoryOutbox(Bytes limit) : limit_(limit) {}

  Status put(const std::vector<Letter>& letters, const std::vector<std::string>& /*seen*/) override {
    for (const Letter& letter : letters) {
      if (letter.bytes() > limit_) {
        ++dropped_;
        continue;
      }
      while (bytes_ + letter.bytes() > limit_) drop_oldest();
      bytes_ += letter.bytes();
      letters_.push_back(letter);
      letters_.back().number = ++last_;
    }
    return {};
  }
  Result<std::vector<Letter>> after(const std::string& sink, std::int64_t number, std::int64_t count) override {
    std::vector<Letter> found;
    const auto first = std::ranges::upper_bound(letters_, number, {}, &Letter::number);
    for (auto it = first; it != letters_.end() && static_cast<std::int64_t>(found.size()) < count; ++it)
      if (it->sink == sink) found.push_back(*it);
    return found;
  }
  Status remove(const std::vector<std::int64_t>& numbers) override {
    for (const std::int64_t number : numbers) {
      const auto found = std::ranges::lower_bound(letters_, number, {}, &Letter::number);
      if (found == letters_.end() || found->number != number) continue;
      bytes_ -= found->bytes();
      letters_.erase(found);
    }
    return {};
  }
  std::int64_t waiting() const override { return static_cast<std::int64_t>(letters_.size()); }
  std::uint64_t dropped() const override { return dropped_; }

 private:
  void drop_oldest() {
    bytes_ -= letters_.front().bytes();
    letters_.pop_front();
    ++dropped_;
  }
  const Bytes limit_;
  std::deque<Letter> letters_;  // by number
  Bytes bytes_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace

std::unique_ptr<Outbox> memory_outbox(Bytes limit) {
  return std::make_unique<MemoryOutbox>(limit);
}

std::string new_origin() {
  std::random_device device;
  return fmt::format("{:08x}", device());
}

struct DiskOutbox::Parts {
  Database database;
  Limits limits;
};

DiskOutbox::DiskOutbox(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DiskOutbox::~DiskOutbox() = default;

Result<std::unique_ptr<DiskOutbox>> DiskOutbox::open(const fs::path& path, const Limits& limits) {
  MG_TRY(Database database, Database::open(path));
  std::unique_ptr<DiskOutbox> outbox(
      new DiskOutbox(std::make_unique<Parts>(Parts{.database = std::move(database), .limits = limits})));
  MG_RETURN_IF_ERROR(outbox->prepare());
  return outbox;
}

Status DiskOutbox::prepare() {
  Database& database = parts_->database;
  for (const char* sql :
       {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
        "CREATE TABLE IF NOT EXISTS letters (number INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, "
        "topic TEXT NOT NULL, payload BLOB NOT NULL, bytes INTEGER NOT NULL)",
        "CREATE INDEX IF NOT EXISTS letters_of_sink ON letters (sink, number)",
        "CREATE TABLE IF NOT EXISTS seen (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
        "CREATE TABLE IF NOT EXISTS board (one INTEGER PRIMARY KEY CHECK (one = 1), origin TEXT NOT NULL, "
        "reserved INTEGER NOT NULL)"})
    MG_RETURN_IF_ERROR(database.run(sql));
  MG_RETURN_IF_ERROR(database.run("INSERT OR IGNORE INTO board VALUES (1, ?, 0)", {new_origin()}));
  MG_TRY(const auto board, database.run("SELECT origin, reserved FROM board"));
  MG_TRY(const auto sums, database.run("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM letters"));
  origin_ = cluster::text(board.at(0), 0);
  next_number_ = reserved_ = cluster::integer(board.at(0), 1);
  waiting_ = cluster::integer(sums.at(0), 0);
  bytes_ = cluster::integer(sums.at(0), 1);
  return {};
}

Status DiskOutbox::make_room(Bytes bytes) {
  while (bytes_ + bytes > parts_->limits.bytes && waiting_ > 0) {
    MG_TRY(const auto oldest,
           parts_->database.run("SELECT number, bytes FROM letters ORDER BY number LIMIT ?", {kDroppedAtOnce}));
    for (const Database::Row& row : oldest) {
      if (bytes_ + bytes <= parts_->limits.bytes) break;
      MG_RETURN_IF_ERROR(parts_->database.run("DELETE FROM letters WHERE number = ?", {cluster::integer(row, 0)}));
      bytes_ -= cluster::integer(row, 1);
      --waiting_;
      ++dropped_;
    }
  }
  return {};
}

Status DiskOutbox::store(const std::vector<Letter>& letters, const std::vector<std::string>& seen) {
  Database& database = parts_->database;
  for (const Letter& letter : letters) {
    if (letter.bytes() > parts_->limits.bytes) {
      ++dropped_;
      continue;
    }
    MG_RETURN_IF_ERROR(make_room(letter.bytes()));
    MG_RETURN_IF_ERROR(database.run("INSERT INTO letters (sink, topic, payload, bytes) VALUES (?, ?, ?, ?)",
                                    {letter.sink, letter.topic, Database::Blob{letter.payload}, letter.bytes()}));
    bytes_ += letter.bytes();
    ++waiting_;
  }
  for (const std::string& id : seen)
    MG_RETURN_IF_ERROR(database.run("INSERT OR IGNORE INTO seen (id) VALUES (?)", {id}));
  if (!seen.empty())
    MG_RETURN_IF_ERROR(
        database.run("DELETE FROM seen WHERE number <= (SELECT MAX(number) FROM seen) - ?", {parts_->limits.ids}));
  return {};
}

Status DiskOutbox::put(const std::vector<Letter>& letters, const std::vector<std::string>& seen) {
  const auto before = std::make_tuple(bytes_, waiting_, dropped_);
  Status stored = parts_->database.together([&] { return store(letters, seen); });
  if (!stored.ok()) std::tie(bytes_, waiting_, dropped_) = before;
  return stored;
}

Result<std::vector<Letter>> DiskOutbox::after(const std::string& sink, std::int64_t number, std::int64_t count) {
  MG_TRY(const auto rows,
         parts_->database.run(
             "SELECT number, topic, payload FROM letters WHERE sink = ? AND number > ? ORDER BY number LIMIT ?",
             {sink, number, count}));
  std::vector<Letter> letters;
  letters.reserve(rows.size());
  for (const Database::Row& row : rows)
    letters.push_back({.number = cluster::integer(row, 0),
                       .sink = sink,
                       .topic = cluster::text(row, 1),
                       .payload = cluster::text(row, 2)});
  return letters;
}

Status DiskOutbox::remove(const std::vector<std::int64_t>& numbers) {
  const auto before = std::make_tuple(bytes_, waiting_);
  Status removed = parts_->database.together([&]() -> Status {
    for (const std::int64_t number : numbers) {
      MG_TRY(const auto gone, parts_->database.run("DELETE FROM letters WHERE number = ? RETURNING bytes", {number}));
      if (gone.empty()) continue;
      bytes_ -= cluster::integer(gone[0], 0);
      --waiting_;
    }
    return {};
  });
  if (!removed.ok()) std::tie(bytes_, waiting_) = before;
  return removed;
}

Result<bool> DiskOutbox::has_seen(const std::string& id) {
  MG_TRY(const auto rows, parts_->database.run("SELECT 1 FROM seen WHERE id = ?", {id}));
  return !rows.empty();
}

Result<std::int64_t> DiskOutbox::next_number() {
  if (next_number_ == reserved_) {
    MG_RETURN_IF_ERROR(parts_->database.run("UPDATE board SET reserved = ?", {reserved_ + kReservedAtOnce}));
    reserved_ += kReservedAtOnce;
  }
  return ++next_number_;
}

}  // namespace mangrove::sensors

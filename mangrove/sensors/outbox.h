#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// Something on its way to a sink: an answer, or an undecided sample.
struct Letter {
  std::int64_t number = 0;  // of the outbox; put() gives it
  std::string sink;
  std::string topic;
  std::string payload;

  Bytes bytes() const { return static_cast<Bytes>(topic.size() + payload.size() + sink.size()) + kOverhead; }
  static constexpr Bytes kOverhead = 64;
};

/// Letters that wait until their sink has confirmed them: a ring, so the oldest go when it is full.
/// threads: one at a time.
class Outbox {
 public:
  virtual ~Outbox() = default;
  /// Keeps all of them, or none. seen: ids of messages that are done with these letters. errors: of the disk.
  virtual Status put(const std::vector<Letter>& letters, const std::vector<std::string>& seen) = 0;
  /// The next ones for this sink behind `number`, at most `count`, the oldest first.
  virtual Result<std::vector<Letter>> after(const std::string& sink, std::int64_t number, std::int64_t count) = 0;
  /// A number that is not there (any more) is left out.
  virtual Status remove(const std::vector<std::int64_t>& numbers) = 0;

  virtual std::int64_t waiting() const = 0;   // letters
  virtual std::uint64_t dropped() const = 0;  // letters that went because it was full
};

/// Is gone with the process. Puts no ids aside.
std::unique_ptr<Outbox> memory_outbox(Bytes limit);

/// An SQLite database that outlives the process, and a cut of the power: then the last second may be lost, but never
/// the rest. It also says who this board is, and which messages it has seen.
class DiskOutbox final : public Outbox {
 public:
  struct Limits {
    Bytes bytes = 1'000'000'000;
    std::int64_t ids = 100'000;  // of messages that were seen; the oldest are forgotten
  };
  /// errors: those of cluster::Database::open().
  static Result<std::unique_ptr<DiskOutbox>> open(const fs::path& path, const Limits& limits);
  ~DiskOutbox() override;

  Status put(const std::vector<Letter>& letters, const std::vector<std::string>& seen) override;
  Result<std::vector<Letter>> after(const std::string& sink, std::int64_t number, std::int64_t count) override;
  Status remove(const std::vector<std::int64_t>& numbers) override;
  std::int64_t waiting() const override { return waiting_; }
  std::uint64_t dropped() const override { return dropped_; }

  /// Whether an id was put aside.
  Result<bool> has_seen(const std::string& id);
  /// Eight digits that this database has and others have not.
  const std::string& origin() const { return origin_; }
  /// A number that no message of this database has had, also before a restart. errors: of the disk.
  Result<std::int64_t> next_number();

 private:
  struct Parts;
  explicit DiskOutbox(std::unique_ptr<Parts> parts);
  Status prepare();
  Status make_room(Bytes bytes);
  Status store(const std::vector<Letter>& letters, const std::vector<std::string>& seen);

  const std::unique_ptr<Parts> parts_;
  std::string origin_;
  Bytes bytes_ = 0;
  std::int64_t waiting_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t next_number_ = 0, reserved_ = 0;
};

/// Eight hexadecimal digits that nobody can guess.
std::string new_origin();

}  // namespace mangrove::sensors

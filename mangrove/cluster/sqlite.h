#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"

struct sqlite3;

namespace mangrove::cluster {

/// An SQLite database of this process alone: while it is open, no other process can open it.
/// threads: one at a time.
class Database {
 public:
  struct Blob {
    std::string bytes;
  };
  using Value = std::variant<std::monostate, std::int64_t, std::string, Blob>;  // nothing: NULL
  using Row = std::vector<Value>;

  /// Makes the file where there is none; only its owner may read it (0600). errors: data_loss (not a database, or a
  /// damaged one), failed_precondition (open in another process), permission_denied, unavailable; the message names the
  /// path.
  static Result<Database> open(const fs::path& path);

  /// One statement with its ?s in order. errors: as open(), and resource_exhausted (disk full).
  Result<std::vector<Row>> run(const std::string& sql, const Row& values = {});
  /// The statements that `all` runs are done together, or, when it fails, not at all.
  Status together(const std::function<Status()>& all);

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database(fs::path path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  Error error(int code) const;

  fs::path path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// The value in a column, or nothing of its kind where another one is there.
std::int64_t integer(const Database::Row& row, std::size_t column);
std::string text(const Database::Row& row, std::size_t column);  // of text or bytes

}  // namespace mangrove::cluster

#include "mangrove/cluster/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace mangrove::cluster {
namespace {

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

int bind(sqlite3_stmt* statement, int place, const Database::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, place, *number);
  if (const auto* string = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, place, string->data(), string->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (const auto* blob = std::get_if<Database::Blob>(&value))
    return sqlite3_bind_blob64(statement, place, blob->bytes.data(), blob->bytes.size(), SQLITE_TRANSIENT);
  return sqlite3_bind_null(statement, place);
}

Database::Value column(sqlite3_stmt* statement, int place) {
  const int type = sqlite3_column_type(statement, place);
  if (type == SQLITE_NULL) return {};
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(statement, place);
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, place));
  std::string content(bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, place)));
  if (type == SQLITE_BLOB) return Database::Blob{std::move(content)};
  return content;
}

/// Makes the file if there is none, and takes the right to read it from others. SQLite gives its journal the same
/// rights.
Status make_private(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return os_error(path, "open", errno);
  const int problem = ::fchmod(file, 0600) == 0 ? 0 : errno;
  ::close(file);
  return problem == 0 ? Status() : Status(os_error(path, "chmod", problem));
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Error Database::error(int code) const {
  const std::string message = path_.string() + ": ";
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return make_error(Code::data_loss, message + "no database, or a damaged one (" + sqlite3_errmsg(handle_.get()) +
                                             "); move it away to begin with an empty one");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make_error(Code::failed_precondition, message + "in use by another process");
    case SQLITE_FULL:
      return make_error(Code::resource_exhausted, message + "the disk is full");
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return make_error(Code::permission_denied, message + sqlite3_errmsg(handle_.get()));
    default:
      return make_error(Code::unavailable, message + sqlite3_errmsg(handle_.get()));
  }
}

Result<Database> Database::open(const fs::path& path) {
  MG_RETURN_IF_ERROR(make_private(path));
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
  Database database(path, handle);
  if (code != SQLITE_OK) return database.error(code);
  MG_RETURN_IF_ERROR(database.run("PRAGMA locking_mode = EXCLUSIVE"));
  MG_RETURN_IF_ERROR(database.run("BEGIN EXCLUSIVE"));
  MG_RETURN_IF_ERROR(database.run("COMMIT"));
  MG_TRY(const std::vector<Row> found, database.run("PRAGMA quick_check(1)"));
  if (found.empty() || text(found.front(), 0) != "ok") return database.error(SQLITE_CORRUPT);
  return database;
}

Result<std::vector<Database::Row>> Database::run(const std::string& sql, const Row& values) {
  sqlite3_stmt* raw = nullptr;
  if (const int code = sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &raw, nullptr); code != SQLITE_OK)
    return error(code);
  const Statement statement(raw, &sqlite3_finalize);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const int code = bind(raw, static_cast<int>(i) + 1, values[i]); code != SQLITE_OK) return error(code);
  }
  std::vector<Row> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    Row& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(raw); ++i) row.push_back(column(raw, i));
  }
  if (code != SQLITE_DONE) return error(code);
  return rows;
}

Status Database::together(const std::function<Status()>& all) {
  MG_RETURN_IF_ERROR(run("BEGIN"));
  const Status done = all();
  const auto ended = run(done.ok() ? "COMMIT" : "ROLLBACK");
  if (!done.ok()) return done;
  if (ended.ok()) return {};
  (void)run("ROLLBACK");  // a commit that failed leaves it open
  return ended.error();
}

std::int64_t integer(const Database::Row& row, std::size_t column) {
  const auto* number = column < row.size() ? std::get_if<std::int64_t>(&row[column]) : nullptr;
  return number == nullptr ? 0 : *number;
}

std::string text(const Database::Row& row, std::size_t column) {
  if (column >= row.size()) return {};
  if (const auto* string = std::get_if<std::string>(&row[column])) return *string;
  const auto* blob = std::get_if<Database::Blob>(&row[column]);
  return blob == nullptr ? std::string() : blob->bytes;
}

}  // namespace mangrove::cluster

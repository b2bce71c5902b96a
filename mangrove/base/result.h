#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "mangrove/base/check.h"

namespace mangrove {

/// What went wrong, as a caller must act on it. The numbers are gRPC's, so that an RPC loses nothing (net checks this).
enum class Code : int {
  cancelled = 1,          // the job ends
  invalid_argument = 3,   // the caller or a file is wrong; exit status 2 when it came from the command line
  deadline_exceeded = 4,  // nothing came in time
  not_found = 5,          // no such file, model, data set, key
  already_exists = 6,     // a file or name that must not be replaced
  permission_denied = 7,
  resource_exhausted = 8,   // memory, disk, ports
  failed_precondition = 9,  // do not retry until the state changes
  aborted = 10,             // redo the step
  out_of_range = 11,
  unimplemented = 12,  // valid, but not supported here
  internal = 13,       // our own bug, seen by a peer
  unavailable = 14,    // repeat the call; for a peer: it is gone
  data_loss = 15,      // a truncated or corrupt file or message
};

/// "not_found", "unavailable", ...
const char* code_name(Code code);

/// One sentence for a person: names the file, key, node or tensor, what was found and what was expected.
struct [[nodiscard]] Error {
  Code code;
  std::string message;

  /// The same error with "where: " in front of its message.
  Error context(const std::string& where) const& { return {code, where + ": " + message}; }
  Error context(const std::string& where) && { return {code, where + ": " + message}; }
};

/// A T or the Error why there is none. Taking the value of an error aborts: test ok() first, or use MG_TRY.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
  template <class U>
  requires(std::is_constructible_v<T, U&&>&& std::is_convertible_v<U&&, T> &&
           !std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_same_v<std::remove_cvref_t<U>, Error> &&
           !std::is_same_v<std::remove_cvref_t<U>, T>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    MG_CHECK_MSG(ok(), error_message());
    return std::get<0>(state_);
  }
  const T& value() const& {
    MG_CHECK_MSG(ok(), error_message());
    return std::get<0>(state_);
  }
  T&& value() && {
    MG_CHECK_MSG(ok(), error_message());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    MG_CHECK(!ok());
    return std::get<1>(state_);
  }
  Code code() const { return error().code; }

  /// Puts "where: " in front of the message of an error; a value passes through.
  Result context(const std::string& where) && {
    if (ok()) return std::move(*this);
    return std::get<1>(std::move(state_)).context(where);
  }

 private:
  std::string error_message() const { return ok() ? std::string() : std::get<1>(state_).message; }
  std::variant<T, Error> state_;
};

/// Success, or the Error why not.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    MG_CHECK(!ok());
    return *error_;
  }
  Code code() const { return error().code; }
  Status context(const std::string& where) && {
    if (ok()) return {};
    return std::move(*error_).context(where);
  }

 private:
  std::optional<Error> error_;
};

inline Error make_error(Code code, std::string message) {
  return {code, std::move(message)};
}

}  // namespace mangrove

#define MG_CONCAT_INNER(a, b) a##b
#define MG_CONCAT(a, b) MG_CONCAT_INNER(a, b)

/// MG_TRY(Graph graph, load_model(path)): declares `graph`, or returns the error from the enclosing function.
#define MG_TRY(declaration, ...) MG_TRY_IMPL(MG_CONCAT(mg_result_, __LINE__), declaration, __VA_ARGS__)
#define MG_TRY_IMPL(name, declaration, ...) \
  auto name = (__VA_ARGS__);                \
  if (!name.ok()) return name.error();      \
  declaration = std::move(name).value()

/// MG_RETURN_IF_ERROR(status_or_result): returns the error from the enclosing function; a value is dropped.
#define MG_RETURN_IF_ERROR(...)                                                    \
  do {                                                                             \
    if (auto mg_status = (__VA_ARGS__); !mg_status.ok()) return mg_status.error(); \
  } while (false)

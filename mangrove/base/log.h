#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace mangrove {

/// A log line is an event with fields, not prose: log_warn("peer silent", {{"rank", 2}, {"silent_s", 3.1}}).
/// error = someone must act; warn = it healed by itself; info = a state changed; debug = per message. Never per
/// element. Lines go to standard error.
enum class LogLevel { debug, info, warn, error, off };

struct LogField {
  std::string_view key;
  std::variant<std::int64_t, double, std::string> value;

  LogField(std::string_view k, const char* v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, std::string_view v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  template <class Integer>
  requires(std::is_integral_v<Integer>) LogField(std::string_view k, Integer v)
      : key(k), value(static_cast<std::int64_t>(v)) {}
};
using LogFields = std::initializer_list<LogField>;

void set_log_level(LogLevel level);
/// Put in front of every line of this process, e.g. "node-3".
void set_log_name(std::string name);

void log_debug(std::string_view event, LogFields fields = {});
void log_info(std::string_view event, LogFields fields = {});
void log_warn(std::string_view event, LogFields fields = {});
void log_error(std::string_view event, LogFields fields = {});

}  // namespace mangrove

#include "mangrove/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "mangrove/base/printable.h"

namespace mangrove {
namespace {

/// The one logger of the process: logging is the one thing that every layer does without being handed it.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("mangrove", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::warn);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    return made;
  }();
  return *instance;
}

std::string render(std::string_view event, LogFields fields) {
  std::string line(event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
      line += std::to_string(*integer);
    } else if (const auto* real = std::get_if<double>(&field.value)) {
      line += fmt::format("{:.6g}", *real);
    } else {
      const std::string text = printable(cut_short(std::get<std::string>(field.value)));
      const bool quote = text.find_first_of(" \"=") != std::string::npos;
      line += quote ? fmt::format("\"{}\"", text) : text;
    }
  }
  return line;
}

void write(spdlog::level::level_enum level, std::string_view event, LogFields fields) {
  if (logger().should_log(level)) logger().log(level, render(event, fields));
}

}  // namespace

void set_log_level(LogLevel level) {
  constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                  spdlog::level::err, spdlog::level::off};
  logger().set_level(levels[static_cast<int>(level)]);
}

void set_log_name(std::string name) {
  // spdlog reads % in a pattern as a field
  std::string escaped;
  for (char c : printable(name)) escaped += (c == '%') ? std::string("%%") : std::string(1, c);
  logger().set_pattern("%Y-%m-%dT%H:%M:%S.%e " + escaped + " %l %v");
}

void log_debug(std::string_view event, LogFields fields) {
  write(spdlog::level::debug, event, fields);
}
void log_info(std::string_view event, LogFields fields) {
  write(spdlog::level::info, event, fields);
}
void log_warn(std::string_view event, LogFields fields) {
  write(spdlog::level::warn, event, fields);
}
void log_error(std::string_view event, LogFields fields) {
  write(spdlog::level::err, event, fields);
}

}  // namespace mangrove

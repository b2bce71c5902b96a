#include "mangrove/cli/reports/frame_answers.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/cli/command.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// "cat", or "class 43" where the classes have no names
std::string label_text(const json& answer) {
  const std::string label = answer.value("label", "?");
  const bool is_number = !label.empty() && label.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "class " + label : label;
}

/// "photos/a.jpg: cat (98.1 %) after 12 ms"
std::string answer_text(const json& answer) {
  const std::string name = answer.value("name", "?");
  if (answer.contains("error")) return fmt::format("{}: {}\n", name, answer.value("error", ""));
  const std::string latency = format_seconds(answer.value("latency_s", 0.0));
  if (answer.contains("missed")) return fmt::format("{}: missed its deadline, after {}\n", name, latency);
  const json confidence = answer.value("confidence", json());
  return fmt::format("{}: {} ({}) after {}\n", name, label_text(answer),
                     confidence.is_number() ? format_percent(confidence.get<double>(), 1) : "not a number", latency);
}

}  // namespace

Result<std::int64_t> print_answers(const std::string& report, const OutputOptions& output) {
  const json body = json::parse(report, nullptr, /*allow_exceptions=*/false);
  std::int64_t count = 0;
  for (const json& answer : body.is_object() ? body.value("answers", json::array()) : json::array()) {
    std::fputs((output.json ? dump(answer) + "\n" : answer_text(answer)).c_str(), stdout);
    ++count;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return make_error(Code::resource_exhausted, "standard output: cannot write");
  return count;
}

}  // namespace mangrove::cli

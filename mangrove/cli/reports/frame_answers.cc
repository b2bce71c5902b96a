#include "mangrove/cli/reports/frame_answers.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/base/printable.h"
#include "mangrove/cli/command.h"
#include "mangrove/infer/pipeline/report.h"

namespace mangrove::cli {
namespace {

using infer::FrameAnswer;

/// "cat", or "class 43" where the classes have no names
std::string label_text(const std::string& label) {
  const bool is_number = !label.empty() && label.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "class " + label : label;
}

/// "photos/a.jpg: cat (98.1 %) after 12 ms"
std::string answer_text(const FrameAnswer& answer) {
  if (answer.error) return fmt::format("{}: {}", answer.name, *answer.error);
  const std::string latency = format_seconds(answer.latency);
  if (answer.missed) return fmt::format("{}: missed its deadline, after {}", answer.name, latency);
  const float confidence = answer.confidence.value_or(NAN);
  return fmt::format("{}: {} ({}) after {}", answer.name, label_text(answer.label.value_or("?")),
                     std::isfinite(confidence) ? format_percent(confidence, 1) : "not a number", latency);
}

}  // namespace

Result<std::int64_t> print_answers(const std::string& report, const OutputOptions& output) {
  MG_TRY(const auto told, job::parse_json<infer::FrameAnswers>(report).context("answers"));
  for (const FrameAnswer& answer : told.answers) {
    // keys in the order of all that is printed as JSON
    const std::string line = output.json ? dump(nlohmann::json(job::json_of(answer))) : printable(answer_text(answer));
    std::fputs((line + "\n").c_str(), stdout);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return make_error(Code::resource_exhausted, "standard output: cannot write");
  return std::ssize(told.answers);
}

}  // namespace mangrove::cli

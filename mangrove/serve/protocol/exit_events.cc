#include "mangrove/serve/protocol/exit_events.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "mangrove/base/json_dump.h"
#include "mangrove/serve/http/server_events.h"
#include "mangrove/serve/protocol/http_status.h"
#include "mangrove/serve/protocol/model_json.h"

namespace mangrove::serve {
namespace {

/// What stands between the separators, without the blanks around it.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  constexpr const char* kBlanks = " \t";
  std::vector<std::string_view> parts;
  for (bool is_last = false; !is_last;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(kBlanks), part.size()));
    parts.push_back(part.substr(0, part.find_last_not_of(kBlanks) + 1));
    is_last = end == text.size();
    text.remove_prefix(is_last ? end : end + 1);
  }
  return parts;
}

bool same_word(std::string_view given, std::string_view lower) {
  return std::ranges::equal(given, lower,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

/// "q=0", "q=0.000".
bool is_quality_zero(std::string_view parameter) {
  return parameter.size() > 2 && same_word(parameter.substr(0, 2), "q=") &&
         parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

bool accepts(std::string_view accept, std::string_view type) {
  for (const std::string_view range : parts_of(accept, ',')) {
    const std::vector<std::string_view> parts = parts_of(range, ';');
    if (same_word(parts.front(), type) && std::none_of(parts.begin() + 1, parts.end(), is_quality_zero)) return true;
  }
  return false;
}

ExitEvents::~ExitEvents() {
  if (context_.access_log != nullptr) context_.access_log->write(std::move(context_.entry));
}

std::string ExitEvents::next(const std::stop_token& stop) {
  if (run_ == nullptr) return "";
  if (stop.stop_requested()) return fail({Code::unavailable, "the server ends"});
  const Result<ExitAnswer> answer = run_->next();
  return answer.ok() ? event_of(*answer) : fail(answer.error());
}

std::string ExitEvents::event_of(const ExitAnswer& answer) {
  note_answer(context_.entry, answer.response);
  auto classes = classification_json(context_.model->metadata(), answer.response, context_.top);
  if (!classes.ok()) return fail(classes.error());
  nlohmann::ordered_json& data = *classes;
  data["exit"] = answer.exit;
  data["entropy"] = std::isfinite(answer.entropy) ? nlohmann::ordered_json(answer.entropy) : nlohmann::ordered_json();
  if (!answer.is_last) return server_event("exit", dump(data));
  context_.entry.status = 200;
  context_.traffic->answered(answer.response.queued + answer.response.computed);  // without what the client takes
  run_.reset();
  return server_event("answer", dump(data));
}

std::string ExitEvents::fail(const Error& error) {
  context_.entry.status = http_status(error.code);
  context_.traffic->failed();
  run_.reset();
  return server_event("error", dump(nlohmann::json{{"error", error.message}}));
}

}  // namespace mangrove::serve

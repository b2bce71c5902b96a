#include "mangrove/serve/protocol/exit_events.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"
#include "mangrove/serve/protocol/http_status.h"
#include "mangrove/serve/protocol/model_json.h"

namespace mangrove::serve {
namespace {

std::string event_text(const char* name, const nlohmann::ordered_json& data) {
  return std::string("event: ") + name + "\ndata: " + dump(data) + "\n\n";
}

}  // namespace

bool accepts_events(std::string_view accept) {
  const std::string_view wanted = kEventStream;
  return std::search(accept.begin(), accept.end(), wanted.begin(), wanted.end(),
                     [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; }) != accept.end();
}

ExitEvents::~ExitEvents() {
  if (context_.access_log != nullptr) context_.access_log->write(std::move(context_.entry));
}

std::string ExitEvents::next() {
  if (run_ == nullptr) return "";
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
  if (!answer.is_last) return event_text("exit", data);
  context_.entry.status = 200;
  context_.traffic->answered(SteadyClock().now() - context_.came);
  run_.reset();
  return event_text("answer", data);
}

std::string ExitEvents::fail(const Error& error) {
  context_.entry.status = http_status(error.code);
  context_.traffic->failed();
  run_.reset();
  return event_text("error", {{"error", error.message}});
}

}  // namespace mangrove::serve

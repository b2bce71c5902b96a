#include "mangrove/cli/reports/event_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/printable.h"
#include "mangrove/job/event.h"
#include "mangrove/train/events.h"

namespace mangrove::cli {
namespace {

/// "tide_turned: at 12, node pi-3"
template <class Json>
std::string keys_and_values(const std::string& name, const Json& event) {
  std::string line;
  for (const auto& [key, value] : event.items())
    if (key != "event" && key != "kind")
      line += (line.empty() ? "" : ", ") + key + " " +
              (value.is_string() ? value.template get<std::string>() : value.dump());
  return name + (line.empty() ? "" : ": " + line);
}

template <class Json>
EventText text_of(const Json& event) {
  const auto read = job::read_json<job::EventHead>(event);
  const job::EventHead head = read.ok() ? *read : job::EventHead();
  EventText text;
  text.line = cut_short(head.sentence ? *head.sentence : keys_and_values(head.event, event));
  std::replace_if(
      text.line.begin(), text.line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      ' ');
  text.is_warning = head.is_warning.value_or(false);
  text.is_advice = head.event == train::AdviceGiven::kEvent;
  text.time = head.time ? head.time : head.at;
  return text;
}

}  // namespace

EventText event_text(const nlohmann::json& event) {
  return text_of(event);
}

EventText event_text(const nlohmann::ordered_json& event) {
  return text_of(event);
}

}  // namespace mangrove::cli

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/report.h"
#include "mangrove/base/units.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::job {

// An event is something that a person wants to know of. Who sends one has a described struct for it (json_fields.h):
//
//   struct ViewLost {
//     static constexpr const char* kEvent = "view_lost";  // its name, which docs/json.md lists
//     static constexpr bool kIsWarning = true;            // a person may have to act upon it
//     std::string node, reason;
//     std::string sentence() const { return node + " is lost: " + reason; }
//     static void fields(auto& self, auto& field) { ... }
//   };
//
// Nobody else has to know of it: the sentence travels with the fields.

template <class E>
concept Event = Described<E> && requires(const E& event) {
  { E::kEvent } -> std::convertible_to<const char*>;
  { E::kIsWarning } -> std::convertible_to<bool>;
  { event.sentence() } -> std::convertible_to<std::string>;
};

/// What all events have.
struct EventHead {
  std::string event;                         // its name
  std::optional<Seconds> time = {};          // since the job began
  std::optional<Seconds> at = {};            // since what docs/json.md says
  std::optional<std::string> sentence = {};  // for people; "": it says only that all is as it should be
  std::optional<bool> is_warning = {};

  static void fields(auto& self, auto& field) {
    field("event", self.event);
    field("time_s", self.time);
    field("at_s", self.at);
    field("sentence", self.sentence);
    field("warning", self.is_warning);
  }
};

/// Its name, its own fields, its sentence and whether it is a warning.
template <Event E>
Json event_json(const E& event) {
  Json json = {{"event", E::kEvent}};
  add_fields(event, json);
  json["sentence"] = event.sentence();
  json["warning"] = E::kIsWarning;
  return json;
}

template <Event E>
Report event_report(const E& event) {
  return {ReportKind::event, dump(event_json(event))};
}

/// Of many, the first few: "a, b and 5 more".
std::string listed(const std::vector<std::string>& items);

/// ": no disk", or "" without a reason.
std::string because(const std::string& reason);

/// A stage of a pipeline has gone to another node.
struct StageMoved {
  static constexpr const char* kEvent = "stage_moved";
  static constexpr bool kIsWarning = false;
  std::int64_t stage = 0;  // from 0
  std::string from, to;    // nodes

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("stage", self.stage);
    field("from", self.from);
    field("to", self.to);
  }
};

}  // namespace mangrove::job

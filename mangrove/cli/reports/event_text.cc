#include "mangrove/cli/reports/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostListed = 8;  // nodes, stages

/// "" where there is none: events come from other processes.
std::string text(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : "";
}

double number(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

std::int64_t whole(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string node(const json& event) {
  const std::string name = text(event, "node");
  return name.empty() ? "a node" : name;
}

/// ": <why>", from whichever key has it.
std::string because(const json& event) {
  for (const char* key : {"message", "reason"})
    if (const std::string why = text(event, key); !why.empty()) return ": " + why;
  return "";
}

std::string listed(const json& event, const char* key, std::string (*item)(const json&)) {
  std::string list;
  std::size_t count = 0;
  const json items = event.value(key, json::array());
  for (const json& one : items) {
    if (++count > kMostListed) return list + fmt::format(" and {} more", items.size() - kMostListed);
    list += (list.empty() ? "" : ", ") + item(one);
  }
  return list;
}

std::string memory_plan(const json& e) {
  const bool is_whole_batch = whole(e, "micro_batches") <= 1 && number(e, "recomputed_share") == 0;
  if (is_whole_batch) return "";
  std::string line =
      fmt::format("{} trains in {} of {} to stay within {}", node(e),
                  format_things(whole(e, "micro_batches"), "micro-batch", "micro-batches"),
                  format_things(whole(e, "micro_batch"), "sample"), format_bytes(whole(e, "predicted_peak")));
  const double recomputed = number(e, "recomputed_share");
  return recomputed > 0 ? line + fmt::format(", recomputing {} of its activations", format_percent(recomputed, 0))
                        : line;
}

std::string balanced(const json& e) {
  const auto share = [](const json& one) { return fmt::format("{} {}", node(one), whole(one, "samples")); };
  return fmt::format("from step {} on samples are shared by speed: {}", format_count(whole(e, "step")),
                     listed(e, "shares", share));
}

std::string codec_chosen(const json& e) {
  return fmt::format("{} sends with codec {}: {}", node(e), text(e, "codec"), text(e, "why"));
}

std::string data_is_there(const json& e) {
  return fmt::format("{} has its training data ({} from the coordinator, {} from other nodes)", node(e),
                     format_things(whole(e, "shards_from_coordinator"), "shard"), whole(e, "shards_from_nodes"));
}

std::string recut(const json& e) {
  const double gain = number(e, "expected_speedup");
  return fmt::format("from step {} on the network is cut into {}{}", format_count(whole(e, "step")),
                     format_things(whole(e, "stages"), "stage"),
                     gain > 0 ? fmt::format(", expected to be {:.2f}x as fast", gain) : "");
}

std::string new_stages(const json& e, const char* why) {
  const auto stage = [](const json& one) { return fmt::format("stage {} on {}", whole(one, "stage") + 1, node(one)); };
  return fmt::format("{}: {}", why, listed(e, "stages", stage));
}

std::string advice(const json& e) {
  const std::string line = advice_line(e);
  return line.empty() ? "" : "advice: " + line;
}

struct Kind {
  const char* name;
  bool is_warning;
  std::string (*line)(const json& event);
};

// The whole list of docs/json.md, "events of a job".
constexpr Kind kKinds[] = {
    {"node_lost", true, [](const json& e) { return node(e) + " is lost" + because(e); }},
    {"node_left", false, [](const json& e) { return node(e) + " has left" + because(e); }},
    {"node_joined", false, [](const json& e) { return node(e) + " has joined"; }},
    {"waiting_for_nodes", true,
     [](const json&) { return std::string("all nodes are lost; the job goes on when one joins"); }},
    {"coordinator_lost", true,
     [](const json& e) { return "the coordinator at " + text(e, "node") + " does not answer" + because(e); }},
    {"coordinator_back", false,
     [](const json& e) { return "the coordinator at " + text(e, "node") + " answers again"; }},
    {"role_failed", true, [](const json& e) { return node(e) + " could not do its part" + because(e); }},
    {"work_reassigned", true,
     [](const json& e) {
       return fmt::format("{} of {} go to the others at step {}{}", format_things(whole(e, "samples"), "sample"),
                          node(e), format_count(whole(e, "step")), because(e));
     }},
    {"worker_left_out", true, [](const json& e) { return node(e) + " will get no work" + because(e); }},
    {"worker_back", false, [](const json& e) { return node(e) + " takes part again"; }},
    {"not_written", true,
     [](const json& e) { return text(e, "message") + "; the run goes on, and tries to write again"; }},
    {"memory_plan", false, &memory_plan},
    {"balanced", false, &balanced},
    {"codec_chosen", false, &codec_chosen},
    {"data_is_there", false, &data_is_there},
    {"shard_refused", true,
     [](const json& e) {
       return fmt::format("{} could not get a shard from {}{}", text(e, "by"), node(e), because(e));
     }},
    {"advice", true, &advice},
    {"stopped_early", false,
     [](const json& e) {
       return fmt::format("stopped after epoch {}: no better validation since epoch {} ({})", whole(e, "epoch"),
                          whole(e, "best_epoch"), format_percent(number(e, "best_accuracy")));
     }},
    {"resumed_with_other_workers", true,
     [](const json& e) {
       return fmt::format("resumed with {} a step, not {} as before: right, but not bit for bit the same",
                          format_things(whole(e, "samples_per_step"), "sample"),
                          format_count(whole(e, "samples_per_step_before")));
     }},
    {"stage_moved", false,
     [](const json& e) {
       return fmt::format("stage {} moved from {} to {}", whole(e, "stage") + 1, text(e, "from"), text(e, "to"));
     }},
    {"recut", false, &recut},
    {"replanned", true, [](const json& e) { return new_stages(e, "the stages of a lost node go on elsewhere"); }},
    {"revised", false, [](const json& e) { return new_stages(e, "speeds have changed; the new plan"); }},
    {"scheduler_switched", false,
     [](const json& e) {
       return fmt::format("scheduler {} in place of {} after {}", text(e, "to"), text(e, "from"),
                          format_seconds(number(e, "at_s")));
     }},
    {"node_left_out", true, [](const json& e) { return node(e) + " will get no work" + because(e); }},
    {"redone", true,
     [](const json& e) { return fmt::format("{} was begun anew without {}", text(e, "phase"), node(e)); }},
    {"view_lost", true,
     [](const json& e) { return fmt::format("view {} of {} is lost{}", whole(e, "view"), node(e), because(e)); }},
};

const Kind* kind_of(const json& event) {
  const std::string name = text(event, "event");
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

/// Of a newer coordinator: "tide_turned: node pi-3, at 12".
std::string unknown_event(const json& event) {
  std::string line;
  for (const auto& [key, value] : event.items())
    if (key != "event")
      line += (line.empty() ? "" : ", ") + key + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  return text(event, "event") + (line.empty() ? "" : ": " + line);
}

}  // namespace

std::string event_line(const json& event) {
  const Kind* kind = kind_of(event);
  std::string line = kind == nullptr ? unknown_event(event) : kind->line(event);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

bool is_warning(const json& event) {
  const Kind* kind = kind_of(event);
  return kind != nullptr && kind->is_warning;
}

std::string advice_line(const json& a) {
  const double speedup = number(a, "predicted_speedup");
  const bool one_is_better = whole(a, "boards") == 1;
  if (!one_is_better && !a.contains("local_steps")) return "";
  std::string line = one_is_better
                         ? fmt::format("one board would train {:.1f}x as fast as all", speedup > 0 ? 1 / speedup : 0)
                         : fmt::format("{} boards train only {:.1f}x as fast as one", whole(a, "boards"), speedup);
  line += fmt::format(" (a step computes {}, exchanges {})", format_seconds(number(a, "compute_s")),
                      format_seconds(number(a, "exchange_s")));
  if (a.contains("local_steps"))
    line += fmt::format("; try --strategy federated --local-steps {}", whole(a, "local_steps"));
  return line;
}

}  // namespace mangrove::cli

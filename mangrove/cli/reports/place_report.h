#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/place/evaluation.h"
#include "mangrove/place/solver.h"

namespace mangrove::cli {

/// Where tasks were, as an earlier `mangrove place --json` has told it.
struct PreviousPlacement {
  struct Task {
    std::string service, task;
    std::size_t copy = 1;
    std::string device;
    static void fields(auto& self, auto& field) {
      field("service", self.service);
      field("task", self.task);
      field("copy", self.copy);
      field("device", self.device);
    }
  };
  std::vector<Task> tasks;
  static void fields(auto& self, auto& field) { field("placement", self.tasks); }
};
/// By part of the problem. Tasks and devices that are not there any more are left out.
place::Before before_of(const place::Problem& problem, const PreviousPlacement& previous, std::size_t most_moves);

/// What `mangrove place` tells (docs/json.md).
struct PlaceReport {
  struct Task {
    std::string service, task;
    std::size_t copy = 1;  // from 1
    std::string device;
    Seconds time = 0;  // of an execution
    double load = 0;   // of the device's cores, or of its accelerator
    static void fields(auto& self, auto& field) {
      field("service", self.service);
      field("task", self.task);
      field("copy", self.copy);
      field("device", self.device);
      field("time_s", self.time);
      field("load", self.load);
    }
  };
  struct Service {
    std::string name;
    Seconds latency = 0, worst_latency = 0;
    std::optional<Seconds> deadline;
    double availability = 1;
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("latency_s", self.latency);
      field("worst_latency_s", self.worst_latency);
      field.or_null("deadline_s", self.deadline);
      field("availability", self.availability);
    }
  };
  struct Device {
    std::string name, zone;
    std::size_t tasks = 0;
    double cores = 0, accelerator = 0;  // shares of the time that they are busy
    double utilisation = 1;             // of both, that is allowed
    Bytes memory = 0;
    std::optional<Bytes> memory_limit;
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("zone", self.zone);
      field("tasks", self.tasks);
      field("cores", self.cores);
      field("accelerator", self.accelerator);
      field("utilisation", self.utilisation);
      field("memory", self.memory);
      field.or_null("memory_limit", self.memory_limit);
    }
  };
  struct Link {
    std::vector<std::string> between;  // two devices
    double carried = 0;                // bytes a second
    std::optional<double> share;       // of its rate
    static void fields(auto& self, auto& field) {
      field("between", self.between);
      field("carried", self.carried);
      field.or_null("share", self.share);
    }
  };
  /// What one solver came to.
  struct Result {
    std::string solver, outcome, why;
    std::optional<double> value = {}, bound = {}, gap = {};  // of the objective's first level; gap: share of the value
    Seconds solving = 0;
    std::optional<std::size_t> rounds = {}, messages = {};  // between domains and their market
    static void fields(auto& self, auto& field) {
      field("solver", self.solver);
      field("outcome", self.outcome);
      field("why", self.why);
      field.or_null("value", self.value);
      field.or_null("bound", self.bound);
      field.or_null("gap", self.gap);
      field("solving_s", self.solving);
      field.or_null("rounds", self.rounds);
      field.or_null("messages", self.messages);
    }
  };
  std::string objective;
  Result result;
  std::size_t all_devices = 0;
  double cost = 0, energy = 0;
  Seconds latency = 0, worst_latency = 0;
  std::size_t devices_used = 0;
  std::optional<std::size_t> moves;  // without --previous there are none
  std::vector<Task> tasks;
  std::vector<Service> services;
  std::vector<Device> devices;  // that are used
  std::vector<Link> links;      // that carry something
  std::vector<Result> comparison;

  static void fields(auto& self, auto& field) {
    field("objective", self.objective);
    Result::fields(self.result, field);
    field("all_devices", self.all_devices);
    field("cost_per_hour", self.cost);
    field("watts", self.energy);
    field("latency_s", self.latency);
    field("worst_latency_s", self.worst_latency);
    field("devices_used", self.devices_used);
    field.or_null("moves", self.moves);
    field("placement", self.tasks);
    field("services", self.services);
    field("devices", self.devices);
    field("links", self.links);
    field("comparison", self.comparison);
  }
};

/// What a solver came to. solving: how long it took.
PlaceReport::Result place_result(const place::Problem& problem, const place::Objective& objective,
                                 std::string_view solver, const place::Solution& solution, Seconds solving);
/// The whole report. `result` is what place_result() made of the same solution.
PlaceReport place_report(const place::Problem& problem, const std::string& objective, PlaceReport::Result result,
                         const place::Solution& solution);
/// Gaps to the best bound that any of them knows.
void compare_results(std::vector<PlaceReport::Result>& results);

/// The first line of the text: "Placement: 14 tasks on 6 of 12 devices: ...".
std::string place_summary(const PlaceReport& report);
/// The report as tables, for people.
std::string place_text(const PlaceReport& report);

}  // namespace mangrove::cli

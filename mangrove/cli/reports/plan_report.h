#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/plan/planner.h"

namespace mangrove::cli {

/// What a plan is expected to give, and how it lies over the devices (docs/json.md).
struct PlanFigures {
  struct Stage {
    std::vector<std::string> devices, layers;
    Seconds busy = 0, period = 0;
    double utilisation = 0;
    Bytes received_bytes = 0, sent_bytes = 0;
    Seconds transfer = 0;
    Bytes memory = 0;
    static void fields(auto& self, auto& field) {
      field("devices", self.devices);
      field("layers", self.layers);
      field("busy_s", self.busy);
      field("period_s", self.period);
      field("utilisation", self.utilisation);
      field("received_bytes", self.received_bytes);
      field("sent_bytes", self.sent_bytes);
      field("transfer_s", self.transfer);
      field("memory", self.memory);
    }
  };
  double samples_per_s = 0;
  Seconds period = 0, latency = 0;
  double joules_per_sample = 0;
  std::int64_t in_flight = 0;
  std::string limited_by = {};
  bool is_proven_best = false;
  std::string caveat = {};
  std::vector<Stage> stages = {};

  static void fields(auto& self, auto& field) {
    field("samples_per_s", self.samples_per_s);
    field("period_s", self.period);
    field("latency_s", self.latency);
    field("joules_per_sample", self.joules_per_sample);
    field("in_flight", self.in_flight);
    field("limited_by", self.limited_by);
    field("proven_best", self.is_proven_best);
    field("caveat", self.caveat);
    field("stages", self.stages);
  }
};

/// What `mangrove plan` tells.
struct PlanReport {
  struct Device {
    std::string name;
    Bytes memory = 0;  // 0: not limited
    double rate = 0;   // bytes a second; 0: not limited
    Seconds delay = 0;
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("memory", self.memory);
      field("rate", self.rate);
      field("delay_s", self.delay);
    }
  };
  struct Way {
    std::vector<std::string> between;  // two devices
    double rate = 0;
    Seconds delay = 0;
    static void fields(auto& self, auto& field) {
      field("between", self.between);
      field("rate", self.rate);
      field("delay_s", self.delay);
    }
  };
  PlanFigures plan;
  std::string model;
  std::int64_t batch = 0;
  std::vector<Device> devices;
  std::vector<Way> ways;
  std::vector<std::string> unused;
  std::optional<PlanFigures> runner_up;
  std::string why_it_lost;
  std::optional<PlanFigures> faster_links, one_more;
  std::optional<Seconds> planning;  // how long it took

  static void fields(auto& self, auto& field) {
    PlanFigures::fields(self.plan, field);
    field("model", self.model);
    field("batch", self.batch);
    field("devices", self.devices);
    field("ways", self.ways);
    field("unused", self.unused);
    field.or_null("runner_up", self.runner_up);
    field("why_it_lost", self.why_it_lost);
    field.or_null("faster_links", self.faster_links);
    field.or_null("one_more", self.one_more);
    field("planning_s", self.planning);
  }
};

/// What the plan is for.
std::vector<PlanReport::Device> planned_devices(const plan::Problem& problem);
std::vector<PlanReport::Way> planned_ways(const plan::Problem& problem);

PlanReport plan_report(const plan::Problem& problem, const plan::Plan& plan, const plan::Advice& advice);

/// The first line of plan_text(): "Plan: resnet-20, micro-batches of 8: 381 samples/s, ...".
std::string plan_summary(const plan::Problem& problem, const plan::Plan& plan);
/// Writes the plan as a table with a picture, for people.
std::string plan_text(const plan::Problem& problem, const plan::Plan& plan, const plan::Advice& advice);

}  // namespace mangrove::cli

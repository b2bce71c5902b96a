#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/cli/reports/plan_report.h"
#include "mangrove/plan/tile_comparison.h"
#include "mangrove/plan/tiles.h"

namespace mangrove::cli {

/// What `mangrove plan --tiles` tells (docs/json.md).
struct TilePlanReport {
  struct Tile {
    std::string device;
    std::vector<std::int64_t> region;  // [top, left, bottom, right] of what the block makes; none: all of it
    Seconds busy = 0;                  // for one micro-batch
    static void fields(auto& self, auto& field) {
      field("device", self.device);
      field("region", self.region);
      field("busy_s", self.busy);
    }
  };
  struct Block {
    std::string first, last;    // names of operators
    std::size_t operators = 0;  // how many
    std::vector<Tile> tiles;
    static void fields(auto& self, auto& field) {
      field("first", self.first);
      field("last", self.last);
      field("operators", self.operators);
      field("tiles", self.tiles);
    }
  };
  struct Use {
    std::string device;
    Bytes memory = 0;  // of its process
    static void fields(auto& self, auto& field) {
      field("device", self.device);
      field("memory", self.memory);
    }
  };
  struct Team {
    std::string source;
    Seconds latency = 0, period = 0;
    double work = 1;
    Bytes sent_bytes = 0;
    std::string limited_by;
    std::vector<Use> uses;
    std::vector<Block> blocks;
    static void fields(auto& self, auto& field) {
      field("source", self.source);
      field("latency_s", self.latency);
      field("period_s", self.period);
      field("work", self.work);
      field("sent_bytes", self.sent_bytes);
      field("limited_by", self.limited_by);
      field("uses", self.uses);
      field("blocks", self.blocks);
    }
  };
  struct Alternative {
    std::string name, why_not;
    std::int64_t devices = 0;
    Seconds latency = 0;
    double samples_per_s = 0;
    Bytes memory = 0;
    double work = 1;
    Bytes sent_bytes = 0;
    std::string limited_by, why_it_lost;
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("why_not", self.why_not);
      field("devices", self.devices);
      field("latency_s", self.latency);
      field("samples_per_s", self.samples_per_s);
      field("memory", self.memory);
      field("work", self.work);
      field("sent_bytes", self.sent_bytes);
      field("limited_by", self.limited_by);
      field("why_it_lost", self.why_it_lost);
    }
  };
  std::string model, objective;
  std::int64_t batch = 0;
  Seconds latency = 0;  // of several teams the longest
  double samples_per_s = 0;
  std::vector<Team> teams;
  std::vector<Alternative> comparison;
  std::vector<PlanReport::Device> devices;
  std::vector<PlanReport::Way> ways;
  std::vector<std::string> unused;
  std::optional<Seconds> planning;  // how long it took, without the comparison

  static void fields(auto& self, auto& field) {
    field("model", self.model);
    field("objective", self.objective);
    field("batch", self.batch);
    field("latency_s", self.latency);
    field("samples_per_s", self.samples_per_s);
    field("teams", self.teams);
    field("comparison", self.comparison);
    field("devices", self.devices);
    field("ways", self.ways);
    field("unused", self.unused);
    field("planning_s", self.planning);
  }
};

/// teams: made for `problem`. alternatives: to them. pipeline: the same network and devices.
TilePlanReport tile_plan_report(const plan::TileProblem& problem, const plan::Problem& pipeline,
                                const std::vector<plan::TilePlan>& teams,
                                const std::vector<plan::TileAlternative>& alternatives);

/// The first line of tile_plan_text(): "Plan: resnet-18 in tiles, ...: latency 310 ms, 4.1 samples/s".
std::string tile_plan_summary(const TilePlanReport& report);

/// Writes the report as tables, for people.
std::string tile_plan_text(const TilePlanReport& report);

}  // namespace mangrove::cli

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/cli/board.h"

namespace mangrove::cli {

/// What so many threads of a machine can do, without a network. A rate that was not measured is not there, and
/// `left_out` says why.
struct MachineRates {
  int threads = 1;
  std::optional<double> product_flop_per_s;  // multiplications and additions of a product of large matrices of f32
  std::optional<double> copy_bytes_per_s;    // bytes that are copied: memory reads as many, and writes as many
  std::optional<std::string> left_out;

  static void fields(auto& self, auto& field) {
    field("threads", self.threads);
    field("product_flop_per_s", self.product_flop_per_s);
    field("copy_bytes_per_s", self.copy_bytes_per_s);
    field("left_out", self.left_out);
  }
};

/// One network on so many threads. Either it was measured, or `left_out` says why not.
struct NetworkFigures {
  std::string task;  // "training" or "inference"
  std::string network;
  std::vector<std::int64_t> sample_shape;
  std::int64_t batch = 1;
  int threads = 1;
  std::optional<double> images_per_s = {};  // by the median step
  std::optional<Seconds> step = {}, step_p10 = {}, step_p90 = {};
  std::optional<std::int64_t> steps = {};     // that were measured
  std::optional<Bytes> planned_memory = {};   // of the compiled program
  std::optional<Bytes> resident_memory = {};  // of the whole process
  std::optional<std::string> left_out = {};

  static void fields(auto& self, auto& field) {
    field("task", self.task);
    field("network", self.network);
    field("sample_shape", self.sample_shape);
    field("batch", self.batch);
    field("threads", self.threads);
    field("images_per_s", self.images_per_s);
    field("step_s", self.step);
    field("step_p10_s", self.step_p10);
    field("step_p90_s", self.step_p90);
    field("steps", self.steps);
    field("planned_memory", self.planned_memory);
    field("resident_memory", self.resident_memory);
    field("left_out", self.left_out);
  }
};

/// Degrees Celsius of the hottest thermal zone.
struct Temperatures {
  double before = 0, after = 0;

  static void fields(auto& self, auto& field) {
    field("before", self.before);
    field("after", self.after);
  }
};

/// What `mangrove bench` found out.
struct BenchReport {
  bool is_complete = false;
  std::string version, date;
  Seconds seconds = 0;  // that it took
  std::string backend;
  std::vector<std::string> backends;  // of this build
  Board machine;
  std::optional<Temperatures> temperature = {};
  std::optional<std::vector<std::string>> throttled = {};  // see throttling()
  std::vector<MachineRates> rates = {};
  std::vector<NetworkFigures> networks = {};
  std::vector<std::string> notes = {};  // why figures may be lower than they could be; sentences

  static void fields(auto& self, auto& field) {
    field("complete", self.is_complete);
    field("version", self.version);
    field("date", self.date);
    field("seconds", self.seconds);
    field("backend", self.backend);
    field("backends", self.backends);
    field("machine", self.machine);
    field("temperature_c", self.temperature);
    field("throttled", self.throttled);
    field("rates", self.rates);
    field("networks", self.networks);
    field("notes", self.notes);
  }
};

/// For people: the machine, a table for each task and number of threads, and the notes.
std::string bench_table(const BenchReport& report);

}  // namespace mangrove::cli

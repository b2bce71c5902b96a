// bench_network: how fast a network of the zoo is trained or run on this machine, and in how much memory.
//
//   bench_network train|infer MODEL [--sample-shape 1,28,28] [--classes 10] [--batch 64] [--threads 1] [--seconds 5]
//                 [--memory 256MB] [--backend NAME]
//   bench_network save MODEL --out FILE.onnx [--sample-shape 1,28,28] [--classes 10]
//
// MODEL is a name of the zoo, for inference also an ONNX file. `save` writes the network with its initial weights.
// learn/network_speed.h says what is measured. Prints one line of JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/network_speed.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

struct Settings {
  std::string what, model, backend, memory, out;
  std::vector<std::int64_t> sample{1, 28, 28};
  std::int64_t classes = 10;
  std::int64_t batch = 64;
  int threads = 1;
  Seconds seconds = 5;
};

double mib(Bytes bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

void report(const Settings& settings, const learn::NetworkSpeed& speed) {
  const Seconds median = learn::quantile(speed.steps, 0.5);
  nlohmann::json line{{"what", settings.what},
                      {"network", settings.model},
                      {"backend", speed.backend},
                      {"batch", settings.batch},
                      {"threads", settings.threads},
                      {"images_per_s", static_cast<double>(settings.batch) / median},
                      {"step_ms", median * 1e3},
                      {"step_ms_p10", learn::quantile(speed.steps, 0.1) * 1e3},
                      {"step_ms_p90", learn::quantile(speed.steps, 0.9) * 1e3},
                      {"steps", speed.steps.size()},
                      {"planned_mib", mib(speed.planned)},
                      {"peak_resident_mib", mib(peak_resident_memory())}};
  if (speed.loss) line["loss"] = *speed.loss;
  if (const auto& plan = speed.plan) {
    line.update({{"micro_batch", plan->training.micro_batch},
                 {"recomputed_share", plan->training.recomputed_share},
                 {"predicted_slowdown", plan->training.slowdown},
                 {"predicted_peak_mib", mib(plan->predicted_peak())}});
  }
  std::puts(line.dump().c_str());
}

Result<Graph> network(const Settings& settings) {
  if (settings.model.ends_with(".onnx")) return load_onnx(settings.model);
  return zoo::build_model(settings.model, {Shape(settings.sample), settings.classes});
}

Status measure(const Settings& settings) {
  learn::SpeedOptions options{.batch = settings.batch,
                              .backend = settings.backend,
                              .threads = settings.threads,
                              .resident = resident_memory,
                              .steps = {.seconds = settings.seconds}};
  if (!settings.memory.empty()) {
    MG_TRY(options.memory, parse_bytes(settings.memory));
  }
  MG_TRY(Graph graph, network(settings));
  const auto measure = settings.what == "train" ? learn::measure_training : learn::measure_inference;
  MG_TRY(const learn::NetworkSpeed speed, measure(std::move(graph), options, SteadyClock()));
  report(settings, speed);
  return {};
}

Status save(const Settings& settings) {
  MG_TRY(const Graph graph, network(settings));
  return save_onnx(graph, settings.out);
}

Status run(const Settings& settings) {
  return settings.what == "save" ? save(settings) : measure(settings);
}

}  // namespace
}  // namespace mangrove

int main(int argc, char** argv) {
  CLI::App app("Speed and memory of one network");
  mangrove::Settings settings;
  app.add_option("what", settings.what)->required()->check(CLI::IsMember({"train", "infer", "save"}));
  app.add_option("model", settings.model)->required();
  app.add_option("--sample-shape", settings.sample)->delimiter(',');
  app.add_option("--classes", settings.classes);
  app.add_option("--batch", settings.batch);
  app.add_option("--threads", settings.threads);
  app.add_option("--seconds", settings.seconds);
  app.add_option("--memory", settings.memory);
  app.add_option("--backend", settings.backend);
  app.add_option("--out", settings.out);
  CLI11_PARSE(app, argc, argv);
  const mangrove::Status status = mangrove::run(settings);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[0], status.error().message.c_str());
  return 1;
}

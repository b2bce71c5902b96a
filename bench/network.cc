// bench_network: how fast a network of the zoo is trained or run on this machine, and in how much memory.
//
//   bench_network train|infer MODEL [--sample-shape 1,28,28] [--classes 10] [--batch 64] [--threads 1] [--seconds 5]
//                 [--memory 256MB] [--backend NAME]
//   bench_network save MODEL --out FILE.onnx [--sample-shape 1,28,28] [--classes 10]
//
// MODEL is a name of the zoo, for inference also an ONNX file. `save` writes the network with its initial weights.
// Training is what users get: learn::Replica (compiled program, loss, gradients) and SGD with momentum. Inference is
// the optimized graph's program. Data is random, in memory, the same batches again and again. Prints one line of JSON.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/process_memory.h"
#include "mangrove/base/random.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

constexpr Seconds kWarmUp = 0.5;

struct Settings {
  std::string what, model, backend, memory, out;
  std::vector<std::int64_t> sample{1, 28, 28};
  std::int64_t classes = 10;
  std::int64_t batch = 64;
  int threads = 1;
  Seconds seconds = 5;
};

Seconds now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double mib(Bytes bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

std::vector<data::Batch> random_batches(const Settings& settings, std::size_t count) {
  Random random(1);
  std::vector<std::int64_t> shape{settings.batch};
  shape.insert(shape.end(), settings.sample.begin(), settings.sample.end());
  std::vector<data::Batch> batches(count);
  for (data::Batch& made : batches) {
    made.images = Tensor(DType::f32, Shape(shape));
    for (float& pixel : made.images.as<float>()) pixel = static_cast<float>(random.normal());
    for (std::int64_t i = 0; i < settings.batch; ++i) {
      made.labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(settings.classes))));
    }
    made.count = settings.batch;
  }
  return batches;
}

/// Seconds of every step for `seconds`, after a warm-up, in ascending order.
std::vector<Seconds> measure(const std::function<void(std::size_t)>& step, Seconds seconds) {
  std::vector<Seconds> steps;
  const Seconds start = now() + kWarmUp;
  std::size_t i = 0;
  for (Seconds before = now(); before < start + seconds || steps.size() < 5;) {
    step(i++);
    const Seconds after = now();
    if (before >= start) steps.push_back(after - before);
    before = after;
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void report(const Settings& settings, const Program& program, const std::vector<Seconds>& steps, nlohmann::json more) {
  const auto quantile = [&](double q) {
    return steps[static_cast<std::size_t>(q * static_cast<double>(steps.size() - 1))];
  };
  nlohmann::json line{{"what", settings.what},
                      {"network", settings.model},
                      {"backend", std::string(program.backend().name())},
                      {"batch", settings.batch},
                      {"threads", settings.threads},
                      {"images_per_s", static_cast<double>(settings.batch) / quantile(0.5)},
                      {"step_ms", quantile(0.5) * 1e3},
                      {"step_ms_p10", quantile(0.1) * 1e3},
                      {"step_ms_p90", quantile(0.9) * 1e3},
                      {"steps", steps.size()},
                      {"planned_mib", mib(program.memory().total())},
                      {"peak_resident_mib", mib(peak_resident_memory())}};
  line.update(more);
  std::puts(line.dump().c_str());
}

Status train(const Settings& settings) {
  std::optional<Graph> graph;
  MG_TRY(graph, zoo::build_model(settings.model, {Shape(settings.sample), settings.classes}));
  learn::ReplicaOptions options{.batch = settings.batch, .backend = settings.backend, .threads = settings.threads};
  // as many batches as a loader holds; large ones once
  const Bytes batch_bytes = settings.batch * Shape(settings.sample).elements() * static_cast<Bytes>(sizeof(float));
  const std::size_t batches_held = batch_bytes > MiB(1) ? 1 : 4;
  if (!settings.memory.empty()) {
    MG_TRY(const Bytes limit, parse_bytes(settings.memory));
    const Bytes weights = graph->parameter_elements() * static_cast<Bytes>(sizeof(float));  // and as much momentum
    options.memory = learn::MemoryBudget{.limit = limit,
                                         .reserved = weights + static_cast<Bytes>(batches_held) * batch_bytes,
                                         .released = weights,
                                         .resident = resident_memory};
  }
  MG_TRY(const auto replica, learn::Replica::create(*graph, options));
  graph.reset();
  std::vector<learn::Optimizer::Parameter> parameters;
  for (const auto& view : replica->execution().parameters()) parameters.push_back({view.value, view.gradient});
  MG_TRY(auto optimizer, learn::Optimizer::create({}, std::move(parameters)));
  const auto batches = random_batches(settings, batches_held);
  learn::BatchStats stats;
  std::int64_t steps = 0;
  const auto times = measure(
      [&](std::size_t i) {
        const data::Batch& batch = batches[i % batches.size()];
        stats = replica->compute_gradients(batch, 1.0f / static_cast<float>(batch.count));
        optimizer.step(0.01f, ++steps, settings.threads);
      },
      settings.seconds);
  nlohmann::json more{{"loss", stats.loss / static_cast<double>(stats.count)}};
  if (const auto& plan = replica->plan()) {
    more.update({{"micro_batch", plan->training.micro_batch},
                 {"recomputed_share", plan->training.recomputed_share},
                 {"predicted_slowdown", plan->training.slowdown},
                 {"predicted_peak_mib", mib(plan->predicted_peak())}});
  }
  report(settings, replica->execution().program(), times, more);
  return {};
}

Result<Graph> network(const Settings& settings) {
  if (settings.model.ends_with(".onnx")) return load_onnx(settings.model);
  return zoo::build_model(settings.model, {Shape(settings.sample), settings.classes});
}

Status infer(const Settings& settings) {
  std::optional<Graph> graph;
  MG_TRY(graph, network(settings));
  const std::string input = graph->inputs()[0].first;
  MG_TRY(auto optimized, optimize(*graph, {}));
  graph.reset();
  std::optional<Graph> rewritten = std::move(optimized.graph);
  CompileOptions options;
  options.batch = settings.batch;
  options.backend = settings.backend;
  options.threads = settings.threads;
  MG_TRY(auto program, Program::compile(rewritten->without_weights(), options));
  MG_TRY(const auto execution, Execution::create(program, settings.threads));
  MG_RETURN_IF_ERROR(load_parameters(*execution, *rewritten));
  rewritten.reset();
  const auto batches = random_batches(settings, 4);
  const auto times = measure(
      [&](std::size_t i) {
        const auto images = batches[i % batches.size()].images.as<float>();
        std::copy(images.begin(), images.end(), execution->input<float>(input).begin());
        execution->forward();
      },
      settings.seconds);
  report(settings, *program, times, nlohmann::json::object());
  return {};
}

Status save(const Settings& settings) {
  MG_TRY(const Graph graph, network(settings));
  return save_onnx(graph, settings.out);
}

Status run(const Settings& settings) {
  if (settings.what == "save") return save(settings);
  return settings.what == "train" ? train(settings) : infer(settings);
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

// bench_lenet: how fast LeNet-5 (20-50-500) is trained or run on this machine, and in how much memory.
//
//   bench_lenet train|infer [SECONDS] [BATCH] [THREADS] [BACKEND]     defaults: 5 64 1 and the fastest backend
//
// The path is the one that users get: the model of the zoo, learn::Replica (compiled program, loss, gradients) and SGD
// with momentum. Data is random, in memory, the same four batches again and again. Prints one line of JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

constexpr int kBatches = 4;
constexpr Seconds kWarmUp = 0.5;

struct Settings {
  Mode mode = Mode::training;
  Seconds seconds = 5;
  std::int64_t batch = 64;
  int threads = 1;
  std::string backend;
};

Seconds now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Largest resident memory of this process so far, as Linux counts it.
double peak_resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

std::vector<data::Batch> random_batches(std::int64_t batch) {
  Random random(1);
  std::vector<data::Batch> batches(kBatches);
  for (data::Batch& made : batches) {
    made.images = Tensor(DType::f32, Shape{batch, 1, 28, 28});
    for (float& pixel : made.images.as<float>()) pixel = static_cast<float>(random.normal());
    for (std::int64_t i = 0; i < batch; ++i) made.labels.push_back(static_cast<std::int32_t>(random.below(10)));
    made.count = batch;
  }
  return batches;
}

/// One step of training or inference on `batch`.
class Runner {
 public:
  Runner(learn::Replica& replica, Mode mode) : replica_(replica), mode_(mode) {
    if (mode == Mode::inference) return;
    std::vector<learn::Optimizer::Parameter> parameters;
    for (const auto& view : replica.execution().parameters()) parameters.push_back({view.value, view.gradient});
    optimizer_ = learn::Optimizer::create({}, std::move(parameters)).value();
  }

  void step(const data::Batch& batch) {
    if (mode_ == Mode::inference) {
      replica_.predict(batch);
      return;
    }
    stats_ = replica_.compute_gradients(batch, 1.0f / static_cast<float>(batch.count));
    optimizer_->step(0.01f, ++steps_);
  }
  /// Mean loss of the last training step.
  double loss() const { return stats_.count > 0 ? stats_.loss / static_cast<double>(stats_.count) : 0; }

 private:
  learn::Replica& replica_;
  Mode mode_;
  std::optional<learn::Optimizer> optimizer_;
  std::int64_t steps_ = 0;
  learn::BatchStats stats_;
};

/// Seconds of every step for `seconds`, after a warm-up.
std::vector<Seconds> measure(Runner& runner, const std::vector<data::Batch>& batches, Seconds seconds) {
  std::vector<Seconds> steps;
  const Seconds start = now() + kWarmUp;
  std::size_t i = 0;
  for (Seconds before = now(); before < start + seconds || steps.size() < 5;) {
    runner.step(batches[i++ % batches.size()]);
    const Seconds after = now();
    if (before >= start) steps.push_back(after - before);
    before = after;
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Status run(const Settings& settings) {
  MG_TRY(const Graph graph, zoo::build_model("lenet", {}));
  MG_TRY(const auto replica, learn::Replica::create(graph, {.batch = settings.batch,
                                                            .mode = settings.mode,
                                                            .backend = settings.backend,
                                                            .threads = settings.threads}));
  const auto batches = random_batches(settings.batch);
  Runner runner(*replica, settings.mode);
  const auto steps = measure(runner, batches, settings.seconds);
  const auto quantile = [&](double q) {
    return steps[static_cast<std::size_t>(q * static_cast<double>(steps.size() - 1))];
  };
  const Program& program = replica->execution().program();
  std::printf(
      "{\"what\":\"%s\",\"backend\":\"%s\",\"batch\":%lld,\"threads\":%d,\"images_per_s\":%.1f,\"step_ms\":%.4f,"
      "\"step_ms_p10\":%.4f,\"step_ms_p90\":%.4f,\"steps\":%zu,\"loss\":%.4f,\"planned_mib\":%.2f,\"peak_resident_"
      "mib\":%.1f}\n",
      settings.mode == Mode::training ? "train" : "infer", std::string(program.backend().name()).c_str(),
      static_cast<long long>(settings.batch), settings.threads, static_cast<double>(settings.batch) / quantile(0.5),
      quantile(0.5) * 1e3, quantile(0.1) * 1e3, quantile(0.9) * 1e3, steps.size(), runner.loss(),
      static_cast<double>(program.memory().total()) / (1 << 20), peak_resident_mib());
  return {};
}

}  // namespace
}  // namespace mangrove

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "train" && what != "infer") {
    std::fprintf(stderr, "usage: %s train|infer [SECONDS] [BATCH] [THREADS] [BACKEND]\n", argv[0]);
    return 2;
  }
  mangrove::Settings settings;
  settings.mode = what == "train" ? mangrove::Mode::training : mangrove::Mode::inference;
  if (argc > 2) settings.seconds = std::atof(argv[2]);
  if (argc > 3) settings.batch = std::atoll(argv[3]);
  if (argc > 4) settings.threads = std::atoi(argv[4]);
  if (argc > 5) settings.backend = argv[5];
  if (const mangrove::Status status = mangrove::run(settings); !status.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], status.error().message.c_str());
    return 1;
  }
  return 0;
}

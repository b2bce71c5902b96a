#include "mangrove/cli/commands/bench_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/format.h"
#include "mangrove/engine/execution.h"
#include "mangrove/engine/program.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/job/machine.h"
#include "mangrove/learn/network_speed.h"
#include "mangrove/learn/replica.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

constexpr double kFlopPerMultiplyAdd = 2;
constexpr double kLoadOfAnIdleCore = 0.5;     // others may use so much of each core before it is worth a note
constexpr double kPartOfOneThread = 2.0 / 3;  // of the time, where several threads are measured too: they take less
constexpr Seconds kWarmUp = 0.5;
constexpr std::size_t kFewestSteps = 3;

// ---- what is measured

struct BenchNetwork {
  const char* name;
  Shape sample;
  std::int64_t classes, batch;
  bool trains;
};

/// Those that take long come last: earlier ones leave time for them.
const std::vector<BenchNetwork>& bench_networks() {
  static const Shape mnist{1, 28, 28}, cifar{3, 32, 32}, small{3, 96, 96}, imagenet{3, 224, 224};
  static const std::vector<BenchNetwork> networks = {{"lenet", mnist, 10, 1, false},
                                                     {"mobilenetv2", imagenet, 1000, 1, false},
                                                     {"squeezenet-1.1", imagenet, 1000, 1, false},
                                                     {"mobilenet", imagenet, 1000, 1, false},
                                                     {"resnet-18", imagenet, 1000, 1, false},
                                                     {"lenet", mnist, 10, 64, true},
                                                     {"mobilenetv2", small, 10, 16, true},
                                                     {"resnet-32", cifar, 10, 32, true}};
  return networks;
}

const char* task_of(const BenchNetwork& network) {
  return network.trains ? "training" : "inference";
}

// ---- rates of the machine

constexpr std::int64_t kMatrixSide = 512;
constexpr double kProductFlop = kFlopPerMultiplyAdd * kMatrixSide * kMatrixSide * kMatrixSide;
constexpr std::size_t kCopyBytes = std::size_t{64} << 20;  // beyond every cache of a board

Result<Graph> product_graph() {
  GraphParts parts;
  parts.name = "product";
  parts.inputs = {{"x", {DType::f32, {kBatch, kMatrixSide}}}};
  parts.outputs = {"y"};
  parts.nodes = {{"product", "MatMul", {}, {"x", "w"}, {"y"}}};
  Tensor weights(DType::f32, {kMatrixSide, kMatrixSide});
  std::ranges::fill(weights.as<float>(), 1.0F);
  parts.initializers.emplace("w", std::move(weights));
  return Graph::create(std::move(parts));
}

/// FLOP/s. errors: those of the engine and learn::measure_steps.
Result<double> measure_product(const std::string& backend, int threads, const learn::StepLimits& limits,
                               const Clock& clock) {
  MG_TRY(const Graph graph, product_graph());
  MG_TRY(
      std::shared_ptr<const Program> program,
      Program::compile(graph, {.mode = Mode::inference, .batch = kMatrixSide, .backend = backend, .threads = threads}));
  MG_TRY(const std::unique_ptr<Execution> execution, Execution::create(std::move(program), threads));
  std::ranges::fill(execution->input<float>("x"), 1.0F);
  MG_TRY(const std::vector<Seconds> steps,
         learn::measure_steps([&](std::size_t) { execution->forward(); }, limits, clock));
  return kProductFlop / learn::quantile(steps, 0.5);
}

/// Bytes a second, each thread copying its part. errors: those of learn::measure_steps.
Result<double> measure_copy(int threads, const learn::StepLimits& limits, const Clock& clock) {
  const std::vector<char> from(kCopyBytes, 1);
  std::vector<char> to(kCopyBytes);
  const auto part = [&](int i) { return kCopyBytes * static_cast<std::size_t>(i) / static_cast<std::size_t>(threads); };
  const auto copy = [&](int i) { std::memcpy(to.data() + part(i), from.data() + part(i), part(i + 1) - part(i)); };
  const auto step = [&](std::size_t) {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(copy, i);
    copy(0);
  };
  MG_TRY(const std::vector<Seconds> steps, learn::measure_steps(step, limits, clock));
  return static_cast<double>(kCopyBytes) / learn::quantile(steps, 0.5);
}

// ---- one after another

class BoardMeasurement {
 public:
  BoardMeasurement(const BenchOptions& options, BenchReport& report)
      : options_(options), report_(report), doubts_(report.notes), threads_{1} {
    if (options.threads > 1) threads_.push_back(options.threads);
  }

  Status run() {
    for (const int threads : threads_) {
      left_ = cases_;
      MG_RETURN_IF_ERROR(measure_rates(threads));
      for (const BenchNetwork& network : bench_networks()) MG_RETURN_IF_ERROR(measure_network(network, threads));
      done_ += cases_;
    }
    report_.is_complete = true;
    return keep();
  }

 private:
  /// Begins a case. It has an equal share of the time that is left, and is measured for half of that, so that later
  /// cases, which are slower, have more.
  learn::StepLimits begin(const std::string& what, int threads) {
    const std::size_t all = cases_ * threads_.size(), until = done_ + cases_;
    const Instant end = start_ + options_.seconds * (until < all ? kPartOfOneThread : 1);
    const Seconds time = std::max(end - clock_.now(), 0.0), share = time / static_cast<double>(left_);
    if (options_.begin)
      options_.begin(fmt::format("{} of {}: {}, {}", until - left_ + 1, all, what, format_things(threads, "thread")),
                     share / 2);
    --left_;
    const Seconds warm_up = std::min(kWarmUp, share / 10);
    return {.warm_up = warm_up,
            .seconds = share / 2 - warm_up,
            .fewest = kFewestSteps,
            .most = share,
            .stop = options_.stop};
  }

  /// Looks at the machine, and has what is known by now kept. errors: those of BenchOptions::keep.
  Status keep() {
    const BoardState state = read_board_state();
    if (before_.temperature_c && state.temperature_c)
      report_.temperature = Temperatures{.before = *before_.temperature_c, .after = *state.temperature_c};
    if (const auto reasons = throttling(before_, state)) {
      if (!report_.throttled) report_.throttled.emplace();
      for (const std::string& reason : *reasons)
        if (std::ranges::find(*report_.throttled, reason) == report_.throttled->end())
          report_.throttled->push_back(reason);
    }
    report_.notes = doubts_;
    if (report_.throttled && !report_.throttled->empty())
      report_.notes.push_back(
          fmt::format("the clock was lowered while this was measured ({}): look at the cooling and "
                      "the power supply",
                      fmt::join(*report_.throttled, ", ")));
    report_.seconds = clock_.now() - start_;
    return options_.keep ? options_.keep(report_) : Status();
  }

  /// Cancelled where that is why; else the reason goes to `left_out`, after one that is there.
  static Status take_failure(const Error& error, std::optional<std::string>& left_out) {
    if (error.code == Code::cancelled) return error;
    left_out = left_out ? *left_out + "; " + error.message : error.message;
    return {};
  }

  Status measure_rates(int threads) {
    MachineRates& rates = report_.rates.emplace_back();
    rates.threads = threads;
    const Result<double> product = measure_product(options_.backend, threads, begin("matrix product", threads), clock_);
    if (product.ok())
      rates.product_flop_per_s = *product;
    else
      MG_RETURN_IF_ERROR(take_failure(product.error().context("product"), rates.left_out));
    MG_RETURN_IF_ERROR(keep());
    const Result<double> copy = measure_copy(threads, begin("memory copy", threads), clock_);
    if (copy.ok())
      rates.copy_bytes_per_s = *copy;
    else
      MG_RETURN_IF_ERROR(take_failure(copy.error(), rates.left_out));
    return keep();
  }

  Status measure_network(const BenchNetwork& network, int threads) {
    NetworkFigures figures{.task = task_of(network),
                           .network = network.name,
                           .sample_shape = network.sample.dims(),
                           .batch = network.batch,
                           .threads = threads};
    const learn::StepLimits limits = begin(figures.task + " " + figures.network, threads);
    const Result<learn::NetworkSpeed> speed = measure_speed(network, threads, limits);
    if (speed.ok())
      set_figures(*speed, figures);
    else
      MG_RETURN_IF_ERROR(take_failure(speed.error(), figures.left_out));
    report_.networks.push_back(std::move(figures));
    job::Machine().release_freed_memory();
    return keep();
  }

  Result<learn::NetworkSpeed> measure_speed(const BenchNetwork& network, int threads,
                                            const learn::StepLimits& limits) const {
    MG_TRY(Graph graph, zoo::build_model(network.name, {.sample_shape = network.sample, .classes = network.classes}));
    MG_RETURN_IF_ERROR(check_time(network, graph, limits));
    const learn::SpeedOptions options{.batch = network.batch,
                                      .backend = options_.backend,
                                      .threads = threads,
                                      .resident = [] { return job::Machine().resident_memory(); },
                                      .steps = limits};
    return network.trains ? learn::measure_training(std::move(graph), options, clock_)
                          : learn::measure_inference(std::move(graph), options, clock_);
  }

  /// A step that is begun cannot be stopped, so a network that is far too slow, judged by the rate of the matrix
  /// product, is not begun.
  Status check_time(const BenchNetwork& network, const Graph& graph, const learn::StepLimits& limits) const {
    const std::optional<double>& rate = report_.rates.back().product_flop_per_s;
    const double passes = network.trains ? learn::kTrainingPasses : 1;
    if (limits.most <= 0) return make_error(Code::deadline_exceeded, "no time was left for it");
    const Seconds step = kFlopPerMultiplyAdd * passes * static_cast<double>(multiply_adds(graph, network.batch)) /
                         rate.value_or(std::numeric_limits<double>::infinity());
    if (step <= limits.most) return {};
    return make_error(Code::deadline_exceeded, "too slow: a step would take about " + format_seconds(step) +
                                                   ", and there are " + format_seconds(limits.most));
  }

  static void set_figures(const learn::NetworkSpeed& speed, NetworkFigures& figures) {
    figures.step = learn::quantile(speed.steps, 0.5);
    figures.step_p10 = learn::quantile(speed.steps, 0.1);
    figures.step_p90 = learn::quantile(speed.steps, 0.9);
    figures.images_per_s = static_cast<double>(figures.batch) / *figures.step;
    figures.steps = static_cast<std::int64_t>(speed.steps.size());
    figures.planned_memory = speed.planned;
    figures.resident_memory = speed.resident;
  }

  const BenchOptions& options_;
  BenchReport& report_;
  const std::vector<std::string> doubts_;
  std::vector<int> threads_;
  const SteadyClock clock_;
  const Instant start_ = clock_.now();
  const BoardState before_ = read_board_state();
  const std::size_t cases_ = 2 + bench_networks().size();  // on each number of threads
  std::size_t done_ = 0, left_ = 0;                        // on earlier numbers of threads; on this one
};

}  // namespace

Status measure_board(const BenchOptions& options, BenchReport& report) {
  return BoardMeasurement(options, report).run();
}

std::vector<std::string> doubts(const Board& board, std::optional<double> load) {
  std::vector<std::string> notes;
  if (load && *load > kLoadOfAnIdleCore * board.usable_cores)
    notes.push_back(
        fmt::format("other work was running when this began (load average {:.2f}, {}): stop it and "
                    "measure again a minute later",
                    *load, format_things(board.cores, "core")));
  // with these two drivers the processor chooses its clock itself, and "powersave" does not keep it low
  const bool chooses_itself =
      board.clock_driver && (board.clock_driver->starts_with("intel_pstate") || board.clock_driver->ends_with("-epp"));
  if (board.governor == "powersave" && !chooses_itself)
    notes.push_back("the governor 'powersave' keeps the clock low: choose 'ondemand' or 'performance'");
  return notes;
}

}  // namespace mangrove::cli

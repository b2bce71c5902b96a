#include "mangrove/compress/comparison.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "mangrove/base/clock.h"
#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"

namespace mangrove::compress {
namespace {

constexpr int kTurns = 21;
constexpr Seconds kTurn = 0.04;  // of one network

class Timed {
 public:
  static Result<Timed> create(const Graph& graph, const std::string& backend, int threads) {
    MG_TRY(const Optimized optimized, optimize(graph, {.mode = Mode::inference}));
    CompileOptions options;
    options.backend = backend;
    options.threads = threads;
    MG_TRY(auto program, Program::compile(optimized.graph, options));
    MG_TRY(auto execution, Execution::create(std::move(program), threads));
    Random random(1);
    for (float& x : execution->input<float>(graph.inputs()[0].first)) x = static_cast<float>(random.uniform());
    return Timed(std::move(execution));
  }

  /// Takes a turn: as many answers as fit into it.
  void measure() {
    const Instant start = clock_.now();
    std::int64_t answers = 0;
    do {
      execution_->forward();
      ++answers;
    } while (clock_.now() - start < kTurn);
    fastest_ = std::min(fastest_, (clock_.now() - start) / static_cast<double>(answers));
  }

  AnswerCost cost() const { return {fastest_, execution_->program().memory().total()}; }

 private:
  explicit Timed(std::unique_ptr<Execution> execution) : execution_(std::move(execution)) {}
  std::unique_ptr<Execution> execution_;
  SteadyClock clock_;
  Seconds fastest_ = std::numeric_limits<double>::infinity();  // turn
};

}  // namespace

Result<std::pair<AnswerCost, AnswerCost>> compare_answers(const Graph& before, const Graph& after,
                                                          const std::string& backend, int threads) {
  MG_TRY(Timed first, Timed::create(before, backend, threads));
  MG_TRY(Timed second, Timed::create(after, backend, threads));
  for (int turn = 0; turn < kTurns; ++turn) {
    first.measure();
    second.measure();
  }
  return std::pair(first.cost(), second.cost());
}

}  // namespace mangrove::compress

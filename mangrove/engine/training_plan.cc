#include "mangrove/engine/training_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

// The cost model: only ratios matter, so one processor's rates serve for all.
constexpr double kFlopsPerSecond = 60e9;
constexpr double kBytesPerSecond = 10e9;
constexpr Seconds kPerStep = 3e-6;
constexpr double kBackwardOverForward = 2;  // gradients of inputs and of weights

// A program for one micro-batch size, with its chain timed by the cost model.
struct Candidate {
  std::shared_ptr<const Program> program;
  std::vector<ChainLink> links;
  Seconds forward = 0;
  Bytes fixed = 0;  // what no cut changes: parameters, inputs, outputs
};

Seconds modelled_time(const Graph& graph, const Node& node, std::int64_t batch) {
  const OperatorCost cost = node_cost(graph, node, batch);
  return kPerStep +
         std::max(cost.flops / kFlopsPerSecond, static_cast<double>(cost.read + cost.written) / kBytesPerSecond);
}

Result<Candidate> make_candidate(const Graph& graph, CompileOptions options, std::int64_t micro_batch) {
  options.mode = Mode::training;
  options.recompute.clear();
  options.accumulate_gradients = micro_batch < options.batch;
  options.batch = micro_batch;
  Candidate candidate;
  MG_TRY(candidate.program, Program::compile(graph, options));
  for (const Program::Link& link : candidate.program->chain()) {
    ChainLink timed = link.link;
    timed.forward = modelled_time(candidate.program->graph(), *link.node, micro_batch);
    candidate.forward += timed.forward;
    candidate.links.push_back(timed);
  }
  const MemoryReport memory = candidate.program->memory();
  candidate.fixed = memory.parameters + std::max<Bytes>(0, memory.arena - chain_peak(candidate.links, {}));
  return candidate;
}

// The nodes whose results need not be kept: those before the last cut that no later segment reads.
std::vector<std::string> nodes_to_recompute(const Program& program, const std::vector<std::size_t>& cuts) {
  std::vector<std::string> nodes;
  for (std::size_t i = 0; !cuts.empty() && i < cuts.back(); ++i) {
    const Program::Link& link = program.chain()[i];
    const std::size_t end = *std::upper_bound(cuts.begin(), cuts.end(), i);
    if (link.last_reader < static_cast<int>(end)) nodes.push_back(link.node->name);
  }
  return nodes;
}

struct Fitted {
  std::shared_ptr<const Program> program;
  Seconds recomputed = 0;
};

// The chain's model leaves out how buffers are packed, so its budget is lowered until the program itself fits.
Result<std::optional<Fitted>> fit(const Graph& graph, const Candidate& candidate, Bytes budget) {
  constexpr int kTries = 6;
  if (candidate.program->memory().total() <= budget) return std::optional(Fitted{candidate.program});
  Bytes for_chain = budget - candidate.fixed;
  for (int attempt = 0; attempt < kTries && for_chain > 0; ++attempt) {
    const auto plan = plan_recomputation(candidate.links, for_chain);
    if (!plan) break;
    CompileOptions options = candidate.program->options();
    options.recompute = nodes_to_recompute(*candidate.program, plan->cuts);
    MG_TRY(auto program, Program::compile(graph, options));
    const Bytes excess = program->memory().total() - budget;
    if (excess <= 0) return std::optional(Fitted{std::move(program), plan->recomputed});
    for_chain -= std::max(excess, for_chain / 64);
  }
  return std::optional<Fitted>();
}

// Time of a whole batch: every micro-batch also adds its gradients to those before.
Seconds batch_time(const Candidate& candidate, Seconds recomputed, std::int64_t micro_batches) {
  Seconds one = (1 + kBackwardOverForward) * candidate.forward + recomputed;
  if (micro_batches > 1) one += 2 * static_cast<double>(candidate.program->memory().parameters) / kBytesPerSecond;
  return static_cast<double>(micro_batches) * one;
}

// Half the batch, a third, ..., down to single samples: enough steps to choose from, each needing less. The whole batch
// comes first in any case: the others are compared with it.
std::vector<std::int64_t> micro_batches_of(std::int64_t batch, std::int64_t wanted) {
  if (wanted == batch) return {batch};
  if (wanted > 0) return {batch, wanted};
  std::vector<std::int64_t> sizes;
  for (std::int64_t parts = 1; parts <= batch; parts = parts < 4 ? parts + 1 : parts * 3 / 2) {
    const std::int64_t size = (batch + parts - 1) / parts;
    if (sizes.empty() || size < sizes.back()) sizes.push_back(size);
  }
  if (sizes.back() != 1) sizes.push_back(1);
  return sizes;
}

}  // namespace

Result<TrainingPlan> plan_training(const Graph& graph, const CompileOptions& options, Bytes budget,
                                   std::int64_t micro_batch) {
  std::optional<TrainingPlan> best;
  Seconds best_time = 0, whole_time = 0;
  Bytes unlimited = 0;
  for (const std::int64_t size : micro_batches_of(options.batch, micro_batch)) {
    MG_TRY(Candidate candidate, make_candidate(graph, options, size));
    if (size == options.batch) {
      unlimited = candidate.program->memory().total();
      whole_time = batch_time(candidate, 0, 1);
    }
    if (micro_batch > 0 && size != micro_batch) continue;
    MG_TRY(auto fitted, fit(graph, candidate, budget));
    const std::int64_t micro_batches = (options.batch + size - 1) / size;
    if (fitted) {
      const Seconds time = batch_time(candidate, fitted->recomputed, micro_batches);
      const bool keeps_all = fitted->recomputed == 0;
      if (!best || time < best_time) {
        best_time = time;
        best = TrainingPlan{.program = std::move(fitted->program),
                            .batch = options.batch,
                            .micro_batch = size,
                            .slowdown = time / whole_time,
                            .recomputed_share = fitted->recomputed / candidate.forward,
                            .unlimited = unlimited};
      }
      if (keeps_all) break;  // smaller ones only take longer
    }
  }
  if (best) return *std::move(best);
  return make_error(Code::resource_exhausted, "no plan trains graph '" + graph.name() + "' at batch " +
                                                  std::to_string(options.batch) + " with a program of " +
                                                  format_bytes(budget));
}

// Single samples need the least; what is asked for grows until a plan is found.
Result<Bytes> least_training_memory(const Graph& graph, const CompileOptions& options, std::int64_t micro_batch) {
  MG_TRY(const Candidate smallest, make_candidate(graph, options, std::max<std::int64_t>(1, micro_batch)));
  for (Bytes budget = smallest.fixed + least_peak(smallest.links);; budget += budget / 32) {
    MG_TRY(const auto fitted, fit(graph, smallest, budget));
    if (fitted) return fitted->program->memory().total();
  }
}

}  // namespace mangrove

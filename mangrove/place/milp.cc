#include "mangrove/place/milp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CbcSolver.hpp>
#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <string>

#include "mangrove/base/mutex.h"

namespace mangrove::place {
namespace {

thread_local const std::stop_token* current_stop = nullptr;  // CBC's callbacks have no place for it

bool must_stop() {
  return current_stop != nullptr && current_stop->stop_requested();
}

/// Between the nodes of the search tree.
class NodeStop final : public CbcEventHandler {
 public:
  CbcAction event(CbcEvent) override { return must_stop() ? stop : noAction; }
  CbcEventHandler* clone() const override { return new NodeStop(*this); }
};

/// Between the steps of the simplex method.
class StepStop final : public ClpEventHandler {
 public:
  int event(Event which) override { return which == endOfIteration && must_stop() ? 5 : -1; }
  ClpEventHandler* clone() const override { return new StepStop(*this); }
};

/// Between the phases.
int after_phase(CbcModel*, int) {
  return must_stop() ? 1 : 0;
}

Mutex cbc_mutex;

std::string column_name(int column) {
  return fmt::format("c{}", column);
}

}  // namespace

int Milp::add_column(double low, double high, bool is_whole) {
  columns_.push_back({low, high, is_whole});
  return columns() - 1;
}

void Milp::set_costs(const Terms& costs) {
  for (Column& column : columns_) column.cost = 0;
  for (const auto& [column, cost] : costs) columns_[static_cast<std::size_t>(column)].cost += cost;
}

void Milp::add_row(Terms terms, double low, double high) {
  std::ranges::sort(terms, {}, &std::pair<int, double>::first);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (kept > 0 && terms[kept - 1].first == terms[i].first)
      terms[kept - 1].second += terms[i].second;
    else
      terms[kept++] = terms[i];
  terms.resize(kept);
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  rows_.push_back({std::move(terms), low, high});
}

void Milp::load(OsiClpSolverInterface& solver) const {
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->setLogLevel(0);
  const auto bound_of = [](double bound) { return std::isinf(bound) ? std::copysign(COIN_DBL_MAX, bound) : bound; };
  std::vector<double> low, high, cost, row_low, row_high, factors;
  for (const Column& column : columns_) {
    low.push_back(bound_of(column.low));
    high.push_back(bound_of(column.high));
    cost.push_back(column.cost);
  }
  std::vector<int> rows, in_columns;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    row_low.push_back(bound_of(rows_[r].low));
    row_high.push_back(bound_of(rows_[r].high));
    for (const auto& [column, factor] : rows_[r].terms) {
      rows.push_back(static_cast<int>(r));
      in_columns.push_back(column);
      factors.push_back(factor);
    }
  }
  CoinPackedMatrix matrix(/*colordered=*/true, rows.data(), in_columns.data(), factors.data(),
                          static_cast<CoinBigIndex>(factors.size()));
  matrix.setDimensions(static_cast<int>(rows_.size()), columns());
  solver.loadProblem(matrix, low.data(), high.data(), cost.data(), row_low.data(), row_high.data());
}

Milp::Relaxed Milp::solve_relaxed(const std::stop_token& stop) const {
  const MutexLock lock(cbc_mutex);
  OsiClpSolverInterface solver;
  load(solver);
  StepStop step_stop;
  solver.getModelPtr()->passInEventHandler(&step_stop);
  current_stop = &stop;
  solver.initialSolve();
  current_stop = nullptr;
  Relaxed relaxed;
  relaxed.is_solved = solver.isProvenOptimal();
  if (!relaxed.is_solved) return relaxed;
  relaxed.values.assign(solver.getColSolution(), solver.getColSolution() + columns());
  relaxed.duals.assign(solver.getRowPrice(), solver.getRowPrice() + rows_.size());
  relaxed.objective = solver.getObjValue();
  return relaxed;
}

Milp::Solution Milp::solve(const Terms& start, const Limits& limits) const {
  const MutexLock lock(cbc_mutex);
  OsiClpSolverInterface solver;
  load(solver);
  std::vector<std::pair<std::string, double>> named_start;
  for (int c = 0; c < columns(); ++c) {
    if (columns_[static_cast<std::size_t>(c)].is_whole) solver.setInteger(c);
    if (!start.empty()) solver.setColName(c, column_name(c));
  }
  for (const auto& [column, value] : start) named_start.emplace_back(column_name(column), value);
  StepStop step_stop;
  solver.getModelPtr()->passInEventHandler(&step_stop);

  CbcModel model(solver);
  CbcSolverUsefulData data;
  data.noPrinting_ = true;
  data.useSignalHandler_ = false;  // signals are the program's
  CbcMain0(model, data);
  model.setLogLevel(0);
  NodeStop node_stop;
  model.passInEventHandler(&node_stop);
  if (!start.empty()) model.setMIPStart(named_start);
  const std::string seconds = fmt::format("{}", std::max(0.01, limits.time));
  const std::string gap = fmt::format("{}", limits.gap);
  // without preprocessing, in which CBC 2.10.8 crashes on some small problems
  const char* arguments[] = {"mangrove", "-preprocess",   "off",       "-log",      "0",      "-timeMode", "elapsed",
                             "-seconds", seconds.c_str(), "-ratioGap", gap.c_str(), "-solve", "-quit"};
  current_stop = &limits.stop;
  CbcMain1(static_cast<int>(std::size(arguments)), arguments, model, after_phase, data);
  current_stop = nullptr;

  Solution solution;
  if (model.bestSolution() != nullptr) {
    solution.values.assign(model.bestSolution(), model.bestSolution() + columns());
    solution.objective = model.getObjValue();
    solution.outcome = model.isProvenOptimal() ? Outcome::optimal : Outcome::feasible;
    // the gap is a share of the larger one of objective and bound; that of rounding does not count
    const double share = limits.gap > kRoundingGap ? limits.gap / (1 - limits.gap) : 0;
    solution.bound = solution.outcome == Outcome::optimal ? solution.objective - share * std::abs(solution.objective)
                                                          : model.getBestPossibleObjValue();
  } else if (!must_stop() && (model.isProvenInfeasible() || model.isInitialSolveProvenPrimalInfeasible())) {
    solution.outcome = Outcome::infeasible;
  } else {
    solution.bound = model.getBestPossibleObjValue();
  }
  return solution;
}

}  // namespace mangrove::place

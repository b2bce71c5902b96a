#include "mangrove/plan/cost_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <limits>

namespace mangrove::plan {
namespace {

constexpr Eigen::Index kTerms = 3;

/// A column of ones, or of `value` of each sample.
template <class Value>
Eigen::VectorXd column(std::span<const CostSample> samples, Value value) {
  Eigen::VectorXd made(static_cast<Eigen::Index>(samples.size()));
  for (std::size_t i = 0; i < samples.size(); ++i)
    made[static_cast<Eigen::Index>(i)] = static_cast<double>(value(samples[i]));
  return made;
}

/// The columns of a set of terms.
Eigen::MatrixXd chosen(const Eigen::MatrixXd& all, unsigned terms) {
  Eigen::MatrixXd some(all.rows(), 0);
  for (Eigen::Index i = 0; i < kTerms; ++i) {
    if ((terms >> i & 1) == 0) continue;
    some.conservativeResize(Eigen::NoChange, some.cols() + 1);
    some.rightCols(1) = all.col(i);
  }
  return some;
}

}  // namespace

LinearCost fit_linear_cost(std::span<const CostSample> samples) {
  if (samples.empty()) return {};
  Eigen::MatrixXd columns(static_cast<Eigen::Index>(samples.size()), kTerms);
  columns << column(samples, [](const CostSample& sample) { return sample.flops; }),
      column(samples, [](const CostSample& sample) { return sample.moved; }),
      column(samples, [](const CostSample&) { return 1; });
  const Eigen::VectorXd seconds = column(samples, [](const CostSample& sample) { return sample.seconds; });
  // of about one size, so that rounding hurts none
  const Eigen::RowVectorXd sizes =
      columns.colwise().maxCoeff().unaryExpr([](double size) { return size > 0 ? size : 1; });
  columns.array().rowwise() /= sizes.array();
  Eigen::Vector3d best = Eigen::Vector3d::Zero();
  double least = seconds.squaredNorm();
  for (unsigned terms = 1; terms < 1u << kTerms; ++terms) {
    const Eigen::MatrixXd some = chosen(columns, terms);
    const Eigen::VectorXd solution = some.colPivHouseholderQr().solve(seconds);
    const double error = (some * solution - seconds).squaredNorm();
    // of equal ones, that with fewer terms
    if (solution.minCoeff() < 0 || error >= least * (1 - 1e-9)) continue;
    least = error;
    best.setZero();
    for (Eigen::Index i = 0, at = 0; i < kTerms; ++i)
      if ((terms >> i & 1) != 0) best[i] = solution[at++];
  }
  return {best[0] / sizes[0], best[1] / sizes[1], best[2] / sizes[2]};
}

CostModel::CostModel(const Profile& profile) {
  struct Samples {
    std::vector<CostSample> forward, backward;
    void add(const OperatorProfile& one) {
      forward.push_back({one.flops, one.moved, one.forward});
      backward.push_back({one.flops, one.moved, one.backward});
    }
    Costs fitted() const { return {fit_linear_cost(forward), fit_linear_cost(backward)}; }
  };
  std::map<std::string, Samples> kinds;
  Samples all;
  for (const OperatorProfile& one : profile.operators) {
    kinds[one.kind].add(one);
    all.add(one);
  }
  all_ = all.fitted();
  for (const auto& [kind, samples] : kinds)
    if (samples.forward.size() >= kFewestSamples) kinds_[kind] = samples.fitted();
}

OperatorProfile CostModel::predicted(OperatorProfile like) const {
  const auto found = kinds_.find(like.kind);
  const Costs& costs = found == kinds_.end() ? all_ : found->second;
  like.forward = costs.forward.seconds(like.flops, like.moved);
  like.backward = costs.backward.seconds(like.flops, like.moved);
  return like;
}

}  // namespace mangrove::plan

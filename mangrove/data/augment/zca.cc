#include <Eigen/Dense>

#include "mangrove/base/format.h"
#include "mangrove/data/augment/transform.h"
#include "mangrove/data/statistics.h"

namespace mangrove::data {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr Eigen::Index kMostValues = 4096;  // of a sample: the matrix has the square of it
constexpr Eigen::Index kBlock = 64;         // samples that go into the covariance at once

/// W (x - mean). source: Bell & Sejnowski, The "independent components" of natural scenes are edge filters, 1997.
class Zca final : public Transform {
 public:
  Zca(const Matrix& whitening, const Vector& mean) : whitening_(whitening.cast<float>()), mean_(mean.cast<float>()) {}

  /// In blocks of one size, filled up with zeros: then a sample's result does not depend on how many others there are.
  void apply(std::span<float> samples, std::span<Random> randoms) const override {
    constexpr std::size_t kColumns = 16;
    const Eigen::Index size = mean_.size();
    Eigen::MatrixXf in(size, kColumns), out(size, kColumns);
    for (std::size_t first = 0; first < randoms.size(); first += kColumns) {
      const auto count = static_cast<Eigen::Index>(std::min(kColumns, randoms.size() - first));
      Eigen::Map<Eigen::MatrixXf> block(samples.data() + static_cast<Eigen::Index>(first) * size, size, count);
      in.setZero();
      in.leftCols(count) = block.colwise() - mean_;
      out.noalias() = whitening_ * in;
      block = out.leftCols(count);
    }
  }

 private:
  Eigen::MatrixXf whitening_;
  Eigen::VectorXf mean_;
};

struct Moments {
  Vector mean;
  Matrix covariance;  // the lower triangle
};

Result<Moments> find_moments(const Dataset& train, Eigen::Index size) {
  Vector sum = Vector::Zero(size);
  Matrix products = Matrix::Zero(size, size), block(size, kBlock);
  Eigen::Index waiting = 0;
  double count = 0;
  const auto add_block = [&] {
    products.selfadjointView<Eigen::Lower>().rankUpdate(block.leftCols(waiting));
    waiting = 0;
  };
  MG_RETURN_IF_ERROR(visit_samples(train, [&](std::span<const float> sample) {
    block.col(waiting) = Eigen::Map<const Eigen::VectorXf>(sample.data(), size).cast<double>();
    sum += block.col(waiting);
    ++count;
    if (++waiting == kBlock) add_block();
  }));
  add_block();
  const Vector mean = sum / count;
  products /= count;
  products.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1);
  return Moments{mean, std::move(products)};
}

}  // namespace

MadeTransform make_zca(RecipeItem& item, const TransformContext& context) {
  MG_TRY(const double epsilon, item.number(0, 0.01, 1e-9, 1e9));
  const auto size = static_cast<Eigen::Index>(context.sample.elements());
  if (size > kMostValues)
    return make_error(Code::invalid_argument, "samples of " + format_count(size) + " values: at most " +
                                                  format_count(kMostValues) + ", as its matrix has the square of that");
  MG_TRY(const auto train, open_training_samples(context));
  MG_TRY(Moments moments, find_moments(*train, size));
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(moments.covariance);
  if (solver.info() != Eigen::Success)
    return make_error(Code::data_loss, "the covariance of the training samples has no eigenvectors");
  // rounding may leave the smallest ones below zero
  const Vector scale = (solver.eigenvalues().array().max(0.0) + epsilon).rsqrt();
  const Matrix& vectors = solver.eigenvectors();
  return std::make_unique<const Zca>(vectors * scale.asDiagonal() * vectors.transpose(), moments.mean);
}

}  // namespace mangrove::data

#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/train/role_world.h"

#include "mangrove/graph/graph.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Normal random numbers of this standard deviation.
Tensor random_tensor(Shape shape, double scale, std::uint64_t seed);
/// Batch normalization of the value `input`, of so many channels, as the value `normal`.
void add_normalization(GraphParts& parts, const std::string& input, std::int64_t channels);

/// A network that trains fast: one small hidden layer.
Graph small_graph();

/// The same with batch normalization of the hidden layer.
Graph normalized_graph();

/// A small LeNet: one convolution for images of 28 x 28, pooling, a layer for the classes. hidden: above 0, there is a
/// fully connected layer of this width before that.
Graph convolutional_graph(std::int64_t classes, std::int64_t hidden = 0);

/// One epoch over the first `samples` glyphs with small_graph() in batches of 8.
TrainJob small_job(std::int64_t samples);

/// The parameters of the model in a result report.
std::vector<float> trained_parameters(const RoleWorld::Outcome& outcome);

/// Runs the job with this many workers.
RoleWorld::Outcome train(const TrainJob& job, int workers);
RoleWorld::Outcome train(const TrainJob& job, RoleWorld& world);

/// The parameters of a run that is stopped at its first report of progress, and resumed from its checkpoint.
std::vector<float> trained_with_a_stop(TrainJob job, int workers);
/// A run in virtual time in which no message passes between these two ranks. is_used: whether there was one.
RoleWorld::Outcome train_over_broken_link(const TrainJob& job, int workers, net::Rank a, net::Rank b, bool& is_used);

/// Every sample of every epoch was learnt from once, and every test sample classified once.
void expect_complete(const RoleWorld::Outcome& outcome, const TrainJob& job, const std::string& where);

/// Every strategy, in each form that takes a way of its own when something is lost. A row of the table whose code none
/// of these forms runs has a case under its own name: it joins all tests of faults by itself.
struct StrategyCase {
  std::string name;
  std::function<void(TrainJob& job)> choose;
};
const std::vector<StrategyCase>& every_strategy();
inline std::string name_of(const ::testing::TestParamInfo<StrategyCase>& info) {
  return info.param.name;
}
/// small_job() for it, of two epochs.
TrainJob job_of(const StrategyCase& strategy, std::int64_t samples);

/// What a worker that has the first `samples` glyphs says first.
Hello hello_of_glyphs(std::int64_t samples);
/// A worker that computes nothing, for so many seconds a sample (REQUIRES virtual time, unless 0): it answers with
/// gradients of zero when `answers` says so, and with class 0.
RoleWorld::Role idle_worker(
    std::int64_t samples, std::function<bool(const Work&)> answers = [](const Work&) { return true; },
    Seconds per_sample = 0);

/// |a - b| / |b|, Euclidean.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace mangrove::train

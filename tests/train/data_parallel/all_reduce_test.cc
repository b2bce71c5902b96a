#include "mangrove/train/data_parallel/all_reduce.h"

#include <gtest/gtest.h>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kAllReduceSamples = 60;

TrainJob reducing(TrainJob job, const std::string& topology = "ring") {
  job.set_strategy("all_reduce");
  job.set_topology(topology);
  return job;
}

/// Two epochs.
TrainJob all_reduce_job(const std::string& topology) {
  TrainJob job = reducing(small_job(kAllReduceSamples), topology);
  job.set_epochs(2);
  job.set_step_timeout_s(20);
  return job;
}

// The parameter server itself is compared with one device.
TEST(AllReduce, ComputesWhatAParameterServerDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const Graph& graph : {small_graph(), normalized_graph()}) {
    for (const auto& [workers, topology] : std::vector<std::pair<int, std::string>>{
             {1, "ring"}, {2, "ring"}, {3, "ring"}, {5, "ring"}, {5, "tree"}, {5, "two_level(2)"}}) {
      TrainJob job = small_job(600);
      job.set_model(encode_onnx(graph));
      job.set_batch(30 / workers);
      job.set_schedule("cosine");
      job.set_warmup_steps(4);
      job.set_weight_decay(0.001f);
      job.set_ema_decay(0.9f);
      const RoleWorld::Outcome server = train(job, workers), reduced = train(reducing(job, topology), workers);
      ASSERT_TRUE(reduced.leader.ok()) << reduced.leader.error().message;
      for (const Status& status : reduced.others) EXPECT_TRUE(status.ok());
      EXPECT_EQ(json_number(reduced.result(), "steps"), 20);
      EXPECT_LT(relative_difference(trained_parameters(reduced), trained_parameters(server)), 1e-5)
          << graph.name() << ", " << workers << " workers, " << topology;
    }
  }
}

TEST(AllReduce, EveryOptimizerComputesWhatAParameterServerDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const learn::OptimizerRow& row : learn::optimizers()) {
    TrainJob job = small_job(300);
    job.set_batch(10);
    job.set_optimizer(std::string(row.name));
    job.set_learning_rate(0.01f);
    job.set_epsilon(1e-3f);  // adam and its like would divide rounding errors by nearly nothing
    job.set_clip_norm(1);
    const auto server = trained_parameters(train(job, 3)), reduced = trained_parameters(train(reducing(job), 3));
    EXPECT_LT(relative_difference(reduced, server), 1e-5) << row.name;
  }
}

TEST(AllReduce, TwoRunsAreBitEqual) {
  for (const char* topology : {"ring", "tree", "two_level(2)", "servers(2)"}) {
    const auto first = trained_parameters(train(all_reduce_job(topology), 4));
    EXPECT_EQ(trained_parameters(train(all_reduce_job(topology), 4)), first) << topology;
  }
}

// Gradients do not go through rank 0: it gets each of them once, whatever the number of workers.
TEST(AllReduce, TheLeaderGetsEachSumOnce) {
  const TrainJob job = reducing(small_job(320));  // 10 steps with 4 workers
  const double bytes = 4 * static_cast<double>(small_graph().parameter_elements());
  RoleWorld world(5);
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const auto received = static_cast<double>(world.world().endpoint(0).traffic().received_bytes);
  EXPECT_GT(received, 10 * bytes);
  EXPECT_LT(received, 12 * bytes);
}

TEST(AllReduce, AStoppedRunGoesOnBitEqual) {
  TrainJob job = all_reduce_job("ring");
  job.set_limit(1000);
  const auto undisturbed = trained_parameters(train(job, 3));
  EXPECT_EQ(trained_with_a_stop(job, 3), undisturbed);
}

class Topologies : public ::testing::TestWithParam<const char*> {};

// Both ends of a link are well, but nothing passes: one of them is left out, and the others go on.
TEST_P(Topologies, ABrokenLinkCostsOneWorker) {
  for (net::Rank a = 1; a <= 4; ++a) {
    for (net::Rank b = a + 1; b <= 4; ++b) {
      bool is_used = false;
      const RoleWorld::Outcome outcome = train_over_broken_link(all_reduce_job(GetParam()), 4, a, b, is_used);
      const std::string where = "link between " + std::to_string(a) + " and " + std::to_string(b);
      expect_complete(outcome, all_reduce_job("ring"), where);
      EXPECT_EQ(json_number(outcome.result(), "workers"), is_used ? 3 : 4) << where;
      const auto left_out = [&](net::Rank rank) {
        return outcome.has_event(R"("event":"worker_left_out","node":"rank-)" + std::to_string(rank));
      };
      EXPECT_EQ(left_out(a) || left_out(b), is_used) << where;
    }
  }
}

// A worker that says it waits for somebody who has no part in the sums is not believed.
TEST(AllReduce, NonsenseAboutWaitingHarmsNobody) {
  RoleWorld world(4);
  world.use_virtual_time();
  world.cancel_at_end();
  world.replace(3, [&](job::RoleContext& context) {
    for (int i = 1; i < 400; ++i) {
      Answer answer;
      answer.set_round(static_cast<std::uint64_t>(i % 20));
      answer.mutable_waiting()->set_rank(i % 3 == 0 ? 999 : -i);
      context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
    }
    return run_training(all_reduce_job("ring"), context);
  });
  expect_complete(train(all_reduce_job("ring"), world), all_reduce_job("ring"), "nonsense");
}

INSTANTIATE_TEST_SUITE_P(AllReduce, Topologies, ::testing::Values("ring", "tree", "two_level(2)"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('('));
                         });

}  // namespace
}  // namespace mangrove::train

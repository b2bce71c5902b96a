#include "tests/infer/inference_job.h"

#include <gtest/gtest.h>

#include "tests/infer/watched_endpoint.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"

namespace mangrove::infer {

InferJob small_job(std::int64_t samples, int stages) {
  InferJob job;
  job.set_model(encode_onnx(small_graph()));
  job.set_data("glyphs");
  job.set_strategy("pipeline");
  job.set_stages(stages);
  job.set_micro_batch(4);
  job.set_limit(samples);
  job.set_answer_timeout_s(30);
  job.set_backend("portable");
  return job;
}

std::string ensemble_member(const std::string& classes, float shift) {
  GraphParts parts = small_graph().parts();
  parts.metadata["mangrove.classes"] = classes;
  Tensor bias = parts.initializers.at("b2").clone();
  for (float& value : bias.as<float>()) value += shift;
  parts.initializers["b2"] = bias;
  return encode_onnx(*Graph::create(std::move(parts)));
}

InferJob ensemble_job(const std::string& strategy, std::int64_t samples, const std::vector<std::string>& members) {
  InferJob job = small_job(samples, 0);
  job.clear_model();
  job.set_strategy(strategy);
  for (const std::string& bytes : members) job.add_members(bytes);
  return job;
}

Status run_evenly(const InferJob& job, job::RoleContext& context) {
  if (context.endpoint.rank() == 0) return run_inference(job, context);
  WatchedEndpoint endpoint(context.endpoint);
  endpoint.on_send = [](net::Rank, net::Tag tag, std::string& payload) {
    FromNode message;
    if (tag != kFromNodeTag || !message.ParseFromString(payload) || !message.has_tier_answer()) return;
    message.mutable_tier_answer()->set_seconds(0.01);
    payload = message.SerializeAsString();
  };
  job::RoleContext evenly = with_endpoint(context, endpoint);
  return run_inference(job, evenly);
}

RoleWorld::Outcome infer(const InferJob& job, RoleWorld& world) {
  const InferJob of_nodes = without_networks(job);  // as a cluster gives it to them
  return world.run(
      [&](job::RoleContext& context) { return run_evenly(context.endpoint.rank() == 0 ? job : of_nodes, context); });
}

RoleWorld::Outcome infer(const InferJob& job, int nodes) {
  RoleWorld world(nodes + 1);
  return infer(job, world);
}

void expect_exact(const RoleWorld::Outcome& outcome, std::int64_t images, const std::string& where) {
  ASSERT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  const std::string result = outcome.result();
  EXPECT_EQ(json_number(result, "images"), images) << where;
  EXPECT_EQ(json_number(result, "agreement"), 1) << where;
  EXPECT_EQ(json_number(result, "lost"), 0) << where;
  EXPECT_EQ(json_number(result, "duplicated"), 0) << where;
}

}  // namespace mangrove::infer

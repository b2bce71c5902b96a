#include "tests/train/training_job.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

void reduce(TrainJob& job, const std::string& topology) {
  job.set_strategy("all_reduce");
  job.set_topology(topology);
}

void step_locally(TrainJob& job, const std::string& strategy) {
  job.set_strategy(strategy);
  job.set_local_steps(2);
}

/// These, and a case for each row of the table whose code none of them runs.
std::vector<StrategyCase> with_new_rows(std::vector<StrategyCase> cases) {
  std::set<decltype(Strategy::run)> covered;
  for (const StrategyCase& one : cases) {
    TrainJob job = small_job(1);
    one.choose(job);
    covered.insert(strategy_of(job).run);
  }
  for (const Strategy& row : strategies()) {
    if (!covered.insert(row.run).second) continue;
    cases.push_back({std::string(row.name), [&row](TrainJob& job) {
                       job.set_strategy(std::string(row.name));
                       if (row.steps_locally) job.set_local_steps(2);
                       if (row.divides_layers) job.set_model_parallel(1000);  // all workers, whatever it costs
                     }});
  }
  return cases;
}

}  // namespace

Tensor random_tensor(Shape shape, double scale, std::uint64_t seed) {
  Tensor tensor(DType::f32, std::move(shape));
  Random random(seed);
  for (float& value : tensor.as<float>()) value = static_cast<float>(scale * random.normal());
  return tensor;
}

void add_normalization(GraphParts& parts, const std::string& input, std::int64_t channels) {
  parts.nodes.push_back(
      {"bn", "BatchNormalization", {}, {input, "bn.scale", "bn.shift", "bn.mean", "bn.var"}, {"normal"}});
  const auto filled = [&](float value) {
    return Tensor::of<float>({channels}, std::vector<float>(static_cast<std::size_t>(channels), value));
  };
  parts.initializers.emplace("bn.scale", filled(1));
  parts.initializers.emplace("bn.shift", filled(0));
  parts.initializers.emplace("bn.mean", filled(0));
  parts.initializers.emplace("bn.var", filled(1));
}

Graph small_graph() {
  GraphParts parts;
  parts.name = "small";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"flat"}},
                 {"fc1", "Gemm", {{"transB", std::int64_t{1}}}, {"flat", "w1", "b1"}, {"hidden"}},
                 {"tanh", "Tanh", {}, {"hidden"}, {"squashed"}},
                 {"fc2", "Gemm", {{"transB", std::int64_t{1}}}, {"squashed", "w2", "b2"}, {"logits"}}};
  parts.initializers = {{"w1", random_tensor({16, 784}, 0.05, 1)},
                        {"b1", random_tensor({16}, 0.05, 2)},
                        {"w2", random_tensor({10, 16}, 0.3, 3)},
                        {"b2", random_tensor({10}, 0.05, 4)}};
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

Graph normalized_graph() {
  GraphParts parts = small_graph().parts();
  parts.name = "normalized";
  parts.nodes[2].inputs = {"normal"};
  add_normalization(parts, "hidden", 16);
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

Graph convolutional_graph(std::int64_t classes, std::int64_t hidden) {
  using Ints = std::vector<std::int64_t>;
  GraphParts parts;
  parts.name = "convolutional";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"conv", "Conv", {{"strides", Ints{2, 2}}}, {"input", "conv.w", "conv.b"}, {"maps"}},
                 {"relu", "Relu", {}, {"maps"}, {"active"}},
                 {"pool", "MaxPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, {"active"}, {"small"}},
                 {"flatten", "Flatten", {}, {"small"}, {"flat"}},
                 {"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"flat", "fc.w", "fc.b"}, {"logits"}}};
  parts.initializers = {{"conv.w", random_tensor({8, 1, 5, 5}, 0.2, 1)},
                        {"conv.b", random_tensor({8}, 0.05, 2)},
                        {"fc.w", random_tensor({classes, 288}, 0.06, 3)},
                        {"fc.b", random_tensor({classes}, 0.05, 4)}};
  if (hidden > 0) {
    const auto fc = parts.nodes.end() - 1;
    fc->inputs[0] = "squashed";
    parts.nodes.insert(fc,
                       {{"hidden", "Gemm", {{"transB", std::int64_t{1}}}, {"flat", "hidden.w", "hidden.b"}, {"wide"}},
                        {"tanh", "Tanh", {}, {"wide"}, {"squashed"}}});
    parts.initializers["hidden.w"] = random_tensor({hidden, 288}, 0.06, 5);
    parts.initializers["hidden.b"] = random_tensor({hidden}, 0.05, 6);
    parts.initializers["fc.w"] = random_tensor({classes, hidden}, 0.2, 3);
  }
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

TrainJob small_job(std::int64_t samples) {
  TrainJob job;
  job.set_model(encode_onnx(small_graph()));
  job.set_data("glyphs");
  job.set_strategy("parameter_server");
  job.set_epochs(1);
  job.set_batch(8);
  job.set_learning_rate(0.1f);
  job.set_momentum(0.9f);
  job.set_weight_decay(0);
  job.set_schedule("constant");
  job.set_warmup_steps(0);
  job.set_sample_cache(0);
  job.set_seed(1);
  job.set_limit(samples);
  job.set_backend("portable");
  return job;
}

std::vector<float> trained_parameters(const RoleWorld::Outcome& outcome) {
  Result<Graph> graph = parse_onnx(outcome.last("result").attachment);
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return learn::flat_parameters(*graph);
}

RoleWorld::Outcome train(const TrainJob& job, RoleWorld& world) {
  return world.run([&](job::RoleContext& context) { return run_training(job, context); });
}

RoleWorld::Outcome train(const TrainJob& job, int workers) {
  RoleWorld world(workers + 1);
  return train(job, world);
}

std::vector<float> trained_with_a_stop(TrainJob job, int workers) {
  RoleWorld world(workers + 1);
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::progress) world.stop().request_stop();
  });
  const RoleWorld::Outcome stopped = train(job, world);
  EXPECT_TRUE(!stopped.leader.ok() && stopped.leader.code() == Code::cancelled);
  job.set_resume_from(stopped.last("checkpoint").attachment);
  return trained_parameters(train(job, workers));
}

RoleWorld::Outcome train_over_broken_link(const TrainJob& job, int workers, net::Rank a, net::Rank b, bool& is_used) {
  RoleWorld world(workers + 1);
  world.use_virtual_time();
  world.cancel_at_end();
  is_used = false;  // guarded by the world's lock
  world.world().set_loss([&](net::Rank from, net::Rank to, net::Tag) {
    const bool is_lost = (from == a && to == b) || (from == b && to == a);
    is_used = is_used || is_lost;
    return is_lost;
  });
  return train(job, world);
}

void expect_complete(const RoleWorld::Outcome& outcome, const TrainJob& job, const std::string& where) {
  ASSERT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  const auto result = nlohmann::json::parse(outcome.result());
  EXPECT_EQ(result["samples"], job.epochs() * job.limit()) << where;
  std::int64_t classified = 0;
  for (const auto& row : result["confusion"]) {
    for (const std::int64_t count : row) classified += count;
  }
  EXPECT_EQ(classified, job.limit()) << where;
}

const std::vector<StrategyCase>& every_strategy() {
  static const std::vector<StrategyCase> all = with_new_rows({
      {"sync", [](TrainJob& job) { job.set_consistency("sync"); }},
      {"async", [](TrainJob& job) { job.set_consistency("async"); }},
      {"stale", [](TrainJob& job) { job.set_consistency("stale(2)"); }},
      {"k_of_n", [](TrainJob& job) { job.set_consistency("k_of_n(2)"); }},
      {"ring", [](TrainJob& job) { reduce(job, "ring"); }},
      {"tree", [](TrainJob& job) { reduce(job, "tree"); }},
      {"two_level", [](TrainJob& job) { reduce(job, "two_level(2)"); }},
      {"balanced",
       [](TrainJob& job) {
         reduce(job, "ring");
         job.set_balance("speed");
       }},
      {"federated", [](TrainJob& job) { step_locally(job, "federated"); }},
      {"buffered",
       [](TrainJob& job) {
         step_locally(job, "federated");
         job.set_consistency("k_of_n(2)");
       }},
      {"gossip", [](TrainJob& job) { step_locally(job, "gossip"); }},
      {"encoded",
       [](TrainJob& job) {
         job.set_codec("two_step(0.1)");
         job.set_downlink_codec("two_step(0.1)");
       }},
      {"encoded_ring",
       [](TrainJob& job) {
         reduce(job, "ring");
         job.set_codec("int8");
       }},
      {"linear_codec_ring",
       [](TrainJob& job) {
         reduce(job, "ring");
         job.set_codec("power(4)");
       }},
      {"encoded_gossip",
       [](TrainJob& job) {
         step_locally(job, "gossip");
         job.set_codec("int8");
       }},
      {"one_f_one_b",
       [](TrainJob& job) {
         job.set_strategy("one_f_one_b");
         job.set_local_steps(2);
         job.set_micro_batches(2);
         job.set_cut("flops");  // the same on every run
       }},
      {"replicated_stages",
       [](TrainJob& job) {
         job.set_strategy("one_f_one_b");
         job.set_local_steps(2);
         job.set_micro_batches(4);
         job.set_cut("flops");
         job.set_replicas(2);
       }},
  });
  return all;
}

TrainJob job_of(const StrategyCase& strategy, std::int64_t samples) {
  TrainJob job = small_job(samples);
  strategy.choose(job);
  job.set_epochs(2);
  job.set_step_timeout_s(20);
  return job;
}

Hello hello_of_glyphs(std::int64_t samples) {
  Hello hello;
  hello.set_train_samples(samples);
  hello.set_test_samples(samples);
  auto glyphs = data::open_dataset("glyphs", data::Split::train, {});
  for (const std::string& name : (*glyphs)->class_names()) hello.add_classes(name);
  for (const std::int64_t size : (*glyphs)->sample_shape()) hello.add_sample_shape(size);
  return hello;
}

RoleWorld::Role idle_worker(std::int64_t samples, std::function<bool(const Work&)> answers, Seconds per_sample) {
  return [samples, answers = std::move(answers), per_sample](job::RoleContext& context) -> Status {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(samples).SerializeAsString());
    while (true) {
      const Result<net::Message> message = context.endpoint.recv({0}, kWorkTag, context.clock.after(60));
      if (!message.ok()) return message.error();
      const auto parts = net::split_payload(message->payload);
      Work work;
      if (!parts.ok() || !work.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) continue;
      if (work.kind() == Work::END) return {};
      if (work.kind() == Work::PING || !answers(work)) continue;
      Answer answer;
      answer.set_round(work.round());
      answer.set_count(work.samples_size());
      answer.set_compute_s(per_sample * work.samples_size());
      constexpr net::Tag kNobodySends = 99;
      if (per_sample > 0) (void)context.endpoint.recv({0}, kNobodySends, context.clock.after(answer.compute_s()));
      std::string gradient(work.kind() == Work::TRAIN ? parts->body.size() : 0, '\0');
      for (int i = 0; work.kind() == Work::EVALUATE && i < work.samples_size(); ++i) {
        answer.add_truths(0);
        answer.add_predictions(0);
        if (i % work.batch() == 0) answer.add_losses(0);
      }
      context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0) + gradient);
    }
  };
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  MG_CHECK(a.size() == b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace mangrove::train

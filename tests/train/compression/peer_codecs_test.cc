#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/range_codecs.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/all_reduce_worker.h"
#include "mangrove/train/data_parallel/reduced_shards.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

TrainJob peer_job(const std::string& strategy, const std::string& codec) {
  TrainJob job = small_job(150);
  job.set_epochs(2);
  job.set_strategy(strategy);
  job.set_local_steps(2);
  job.set_codec(codec);
  return job;
}

const char* const kTopologies[] = {"ring", "tree", "two_level(2)", "servers(2)"};

// Copies that are not the same bits on all workers would drift apart; the leader's are tested.
TEST(AllReduceCodecs, FineOnesTrainAsNoneDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const Graph& graph : {small_graph(), normalized_graph()}) {
    for (const char* topology : kTopologies) {
      for (const int workers : {1, 2, 5}) {
        const auto trained = [&](const char* codec) {
          TrainJob job = peer_job("all_reduce", codec);
          job.set_model(encode_onnx(graph));
          job.set_topology(topology);
          const RoleWorld::Outcome outcome = train(job, workers);
          EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
          return trained_parameters(outcome);
        };
        const auto plain = trained("none"), start = learn::flat_parameters(graph);
        const double way = relative_difference(start, plain);
        for (const auto& [codec, bound] : {std::pair{"top_k(1)", 1e-4}, {"fp16", 1e-2}, {"int8", 0.1}})
          EXPECT_LT(relative_difference(trained(codec), plain), bound * way)
              << topology << ", " << workers << ", " << codec;
      }
    }
  }
}

TEST(AllReduceCodecs, CoarseOnesLearn) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = peer_job("all_reduce", "none");
  job.set_limit(1000);
  job.set_epochs(10);
  job.set_learning_rate(0.05f);
  const double plain = json_number(train(job, 4).result(), "accuracy");
  ASSERT_GT(plain, 0.7);
  for (const auto& [topology, codec] : {std::pair{"ring", "one_bit"},
                                        {"ring", "two_step(0.05)"},
                                        {"tree", "top_k(0.05)"},
                                        {"ring", "power(1)"},
                                        {"servers(2)", "two_step(0.05)"}}) {
    job.set_topology(topology);
    job.set_codec(codec);
    const RoleWorld::Outcome outcome = train(job, 4);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_GT(json_number(outcome.result(), "accuracy"), plain - 0.08) << topology << ", " << codec;
  }
}

/// Three reductions among `ranks` workers, each of other vectors. Rank 0 puts their shares together.
class PeerCodecsReductions {
 public:
  PeerCodecsReductions(const TrainJob& job, int ranks) : job_(job), graph_(normalized_graph()), ranks_(ranks) {}

  std::map<net::Rank, std::vector<std::vector<float>>> sums;  // of the workers; of rank 0: those put together

  /// Of the first reduction, of a linear codec.
  std::vector<float> sum_of_one_rank() const {
    const auto elements = static_cast<std::size_t>(graph_.parameter_elements());
    std::vector<float> sum(elements + learn::flat_states(graph_).size());
    for (int rank = 1; rank <= ranks_; ++rank) {
      Random random(static_cast<std::uint64_t>(rank));
      for (float& value : sum) value += static_cast<float>(random.normal());
    }
    const Range all{0, elements};
    RangeCodecs codecs(job_, graph_);
    const std::unique_ptr<codec::ReducibleCodec> codec = codecs.make_reducible(all);
    const std::span<float> parameters = std::span(sum).first(elements);
    for (std::span<float> part = codec->begin(parameters); !part.empty(); part = codec->next()) {
    }
    EXPECT_TRUE(codecs.decode(RangeCodecs::kFinished, all, codec->message(), parameters).ok());
    return sum;
  }

  void run() {
    RoleWorld world(ranks_ + 1);
    const RoleWorld::Outcome outcome = world.run(
        [&](job::RoleContext& context) { return context.endpoint.rank() == 0 ? lead(context) : work(context); });
    EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    for (const Status& status : outcome.others) EXPECT_TRUE(status.ok());
  }

 private:
  static constexpr int kRounds = 3;

  Status work(job::RoleContext& context) {
    std::optional<net::Message> interruption;
    MG_TRY(const auto reducer, AllReduceWorker::create(job_, hyperparameters_of(job_).value(), context, interruption));
    MG_RETURN_IF_ERROR(reducer->use(graph_));
    Random random(static_cast<std::uint64_t>(context.endpoint.rank()));
    for (int round = 1; round <= kRounds; ++round) {
      Work work;
      work.set_round(static_cast<std::uint64_t>(round));
      work.mutable_reduction()->set_id(static_cast<std::uint64_t>(round));
      for (int rank = 1; rank <= ranks_; ++rank) work.mutable_reduction()->add_ranks(rank);
      std::vector<float> values(learn::flat_parameters(graph_).size() + learn::flat_states(graph_).size());
      EXPECT_TRUE(reducer->begin(work, values));
      for (float& value : values) value = static_cast<float>(random.normal());
      for (std::size_t i = 0; i <= graph_.parameters().size(); ++i) reducer->ready(i);
      MG_TRY(const bool reduced, reducer->finish());
      EXPECT_TRUE(reduced);
      Answer answer;
      const std::string body = reducer->share_of_sums(answer);
      context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0) + body);
      MutexLock lock(mutex_);
      sums[context.endpoint.rank()].push_back(values);
    }
    return {};
  }

  Status lead(job::RoleContext& context) {
    ReducedShards shares(job_, graph_);
    for (int round = 1; round <= kRounds; ++round) {
      std::map<net::Rank, WorkerRoster::Answered> answers;
      for (net::Rank rank = 1; rank <= ranks_; ++rank) {
        MG_TRY(net::Message message, context.endpoint.recv({rank}, kAnswerTag, context.clock.after(60)));
        MG_TRY(const net::PayloadParts parts, net::split_payload(message.payload));
        WorkerRoster::Answered answered{rank, {}, std::string(parts.body), 0, 0};
        EXPECT_TRUE(answered.answer.ParseFromArray(parts.header.data(), static_cast<int>(parts.header.size())));
        answers.emplace(rank, std::move(answered));
      }
      MG_TRY(const std::string bytes, shares.put_together(answers));
      std::vector<float> values(bytes.size() / sizeof(float));
      MG_RETURN_IF_ERROR(net::read_floats(bytes, values));
      MutexLock lock(mutex_);
      sums[0].push_back(values);
    }
    return {};
  }

  const TrainJob job_;
  const Graph graph_;
  const int ranks_;
  Mutex mutex_;
};

// Else copies would drift apart.
TEST(AllReduceCodecs, AllWorkersAndTheLeaderHaveTheSameBits) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const char* topology : kTopologies) {
    for (const char* codec : {"int8", "one_bit", "two_step(0.05)", "qsgd", "power(2)", "structured_low_rank(4)"}) {
      for (const int ranks : {1, 2, 3, 5, 8}) {
        TrainJob job = peer_job("all_reduce", codec);
        job.set_topology(topology);
        PeerCodecsReductions reductions(job, ranks);
        reductions.run();
        for (net::Rank rank = 0; rank <= ranks; ++rank)
          EXPECT_EQ(reductions.sums[rank], reductions.sums[1])
              << topology << ", " << codec << ", " << rank << " of " << ranks;
      }
    }
  }
}

// A linear codec makes one sum of all ranks' vectors, however it is cut among them: that of one rank that has them all.
TEST(AllReduceCodecs, LinearOnesSumAsOneRankWould) {
  for (const char* codec : {"power(2)", "structured_low_rank(4)"}) {
    for (const char* topology : kTopologies) {
      for (const int ranks : {1, 2, 3, 5}) {
        TrainJob job = peer_job("all_reduce", codec);
        job.set_topology(topology);
        PeerCodecsReductions reductions(job, ranks);
        reductions.run();
        EXPECT_LT(relative_difference(reductions.sums[1][0], reductions.sum_of_one_rank()), 1e-4)
            << codec << ", " << topology << ", " << ranks;
      }
    }
  }
}

// They need two sums in place of one, of the factors only.
TEST(AllReduceCodecs, PowerSendsTheFactorsOnly) {
  const auto exchange = [&](const char* codec, const char* topology) {
    TrainJob job = peer_job("all_reduce", codec);
    job.set_topology(topology);
    return nlohmann::json::parse(train(job, 4).result())["exchange"]["peers"];
  };
  const Graph graph = small_graph();
  const codec::Stream stream = parameter_stream(graph, 1);
  const auto sent = codec::make_codec("power(1)", stream).value()->encode(learn::flat_parameters(graph)).size();
  const double predicted = static_cast<double>(graph.parameter_elements()) * sizeof(float) / static_cast<double>(sent);
  ASSERT_GT(predicted, 10);
  for (const char* topology : kTopologies) {
    const auto plain = exchange("none", topology), coded = exchange("power(1)", topology);
    EXPECT_EQ(coded["messages"], 2 * plain["messages"].get<std::int64_t>()) << topology;
    EXPECT_LT(coded["compression"], predicted) << topology;  // messages have headers
    EXPECT_GT(coded["compression"], 0.8 * predicted) << topology;
  }
}

TEST(AllReduceCodecs, BytesAreTold) {
  for (const char* strategy : {"all_reduce", "gossip"}) {
    const auto exchange = [&](const char* codec) {
      return nlohmann::json::parse(train(peer_job(strategy, codec), 4).result())["exchange"]["peers"];
    };
    const auto plain = exchange("none"), coded = exchange("int8");
    EXPECT_EQ(coded["messages"], plain["messages"]) << strategy;
    EXPECT_EQ(coded["float_bytes"], plain["float_bytes"]) << strategy;
    EXPECT_GT(plain["compression"], 0.97) << strategy;
    EXPECT_LT(plain["compression"], 1) << strategy;
    EXPECT_GT(coded["compression"], 2) << strategy;
    EXPECT_LT(coded["compression"], 4) << strategy;
  }
}

TEST(GossipCodecs, LearnAsNoneDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const auto& [neighbours, codecs] :
       {std::pair<const char*, std::vector<const char*>>{"ring", {"int8", "one_bit", "top_k(0.1)"}},
        {"random", {"two_step(0.1)"}}}) {
    TrainJob job = peer_job("gossip", "none");
    job.set_neighbours(neighbours);
    job.set_limit(1000);
    job.set_epochs(10);
    job.set_learning_rate(0.05f);
    const double plain = json_number(train(job, 4).result(), "accuracy");
    ASSERT_GT(plain, 0.7) << neighbours;
    for (const char* codec : codecs) {
      job.set_codec(codec);
      const RoleWorld::Outcome outcome = train(job, 4);
      ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
      EXPECT_GT(json_number(outcome.result(), "accuracy"), plain - 0.05) << neighbours << ", " << codec;
    }
  }
}

TEST(GossipCodecs, FineOnesKeepTheMean) {
  const auto plain = trained_parameters(train(peer_job("gossip", "none"), 4));
  const double way = relative_difference(learn::flat_parameters(small_graph()), plain);
  EXPECT_LT(relative_difference(trained_parameters(train(peer_job("gossip", "top_k(1)"), 4)), plain), 1e-4 * way);
  EXPECT_LT(relative_difference(trained_parameters(train(peer_job("gossip", "fp16"), 4)), plain), 1e-2 * way);
}

WorkerRoster::Answered share(net::Rank rank, std::uint64_t first, std::uint64_t count, std::uint64_t bytes,
                             const std::string& body) {
  WorkerRoster::Answered answered{rank, {}, body, 0, 0};
  Share& told = *answered.answer.add_shares();
  told.set_first(first);
  told.set_count(count);
  told.set_bytes(bytes);
  return answered;
}

TEST(ReducedShards, RefusesWhatIsNotAllOfThemOnce) {
  TrainJob job = peer_job("all_reduce", "none");
  job.set_codec("top_k(1)");
  const Graph graph = small_graph();
  const auto n = static_cast<std::uint64_t>(graph.parameter_elements());
  RangeCodecs codecs(job, graph);
  const auto message = [&](std::size_t first, std::size_t count) {
    return codecs.encode(RangeCodecs::kFinished, {first, count}, std::vector<float>(count, 2.5f));
  };
  const std::string half = message(0, n / 2), rest = message(n / 2, n - n / 2);
  ReducedShards shares(job, graph);
  const auto first = share(1, 0, n / 2, half.size(), half);
  const auto result = shares.put_together({{1, first}, {2, share(2, n / 2, n - n / 2, rest.size(), rest)}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  std::vector<float> sums(n);
  ASSERT_TRUE(net::read_floats(*result, sums).ok());
  EXPECT_EQ(sums, std::vector<float>(n, 2.5f));
  for (const WorkerRoster::Answered& bad : {share(2, n / 2 + 1, n - n / 2 - 1, rest.size(), rest),  // a gap
                                            share(2, n / 2, n, rest.size(), rest),                  // beyond the end
                                            share(2, ~0ull, 2, rest.size(), rest),                  // the sum overflows
                                            share(2, 0, n / 2, half.size(), half),                  // twice
                                            share(2, n / 2, n - n / 2, rest.size() + 1, rest),  // longer than the body
                                            share(2, n / 2, n - n / 2, 3, rest),                // cut
                                            share(2, n / 2, n - n / 2, rest.size(), rest + "more")}) {
    const auto refused = shares.put_together({{1, first}, {2, bad}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), Code::data_loss);
  }
}

}  // namespace
}  // namespace mangrove::train

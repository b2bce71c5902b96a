#include "mangrove/infer/networks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "tests/base/temporary_folder.h"
#include "tests/infer/inference_job.h"

#include "mangrove/base/random.h"
#include "mangrove/data/sha256.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kNetworksSamples = 12;

/// Boards that keep what they were given from one job to the next.
class NetworksBoards {
 public:
  RoleWorld::Outcome infer(const InferJob& job, int nodes) {
    RoleWorld world(nodes + 1);
    return world.run([&](job::RoleContext& context) {
      job::RoleContext own = context;
      own.data_folder = folder(context.endpoint.rank());
      return run_inference(job, own);
    });
  }
  fs::path folder(net::Rank rank) const { return folder_ / std::to_string(rank); }
  fs::path file(net::Rank rank, const InferJob& job) const {
    return folder(rank) / "networks" / (data::sha256(job.model()) + ".onnx");
  }

 private:
  mangrove::testing::TemporaryFolder folder_;
};

double bytes_moved(const RoleWorld::Outcome& outcome) {
  expect_exact(outcome, kNetworksSamples, "run");
  return json_number(outcome.result(), "model_bytes");
}

TEST(KeptNetworks, ASecondStartMovesNone) {
  NetworksBoards boards;
  const InferJob job = small_job(kNetworksSamples, 2);
  EXPECT_EQ(bytes_moved(boards.infer(job, 2)), 2.0 * static_cast<double>(job.model().size()));
  EXPECT_EQ(bytes_moved(boards.infer(job, 2)), 0);
  EXPECT_EQ(bytes_moved(boards.infer(job, 3)), static_cast<double>(job.model().size())) << "a board that is new";
}

TEST(KeptNetworks, ADamagedOneIsFetchedAgain) {
  NetworksBoards boards;
  const InferJob job = small_job(kNetworksSamples, 2);
  boards.infer(job, 2);
  std::string damaged = job.model();
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  for (const std::string& content : {damaged, job.model().substr(1), std::string()}) {
    std::ofstream(boards.file(1, job), std::ios::binary) << content;
    EXPECT_EQ(bytes_moved(boards.infer(job, 2)), static_cast<double>(job.model().size()));
    EXPECT_EQ(bytes_moved(boards.infer(job, 2)), 0);
  }
}

TEST(KeptNetworks, AFolderThatCannotBeWrittenIsNoReasonToFail) {
  NetworksBoards boards;
  const InferJob job = small_job(kNetworksSamples, 1);
  fs::create_directories(boards.folder(1));
  std::ofstream(boards.folder(1) / "networks") << "a file";
  for (int start = 0; start < 2; ++start)
    EXPECT_EQ(bytes_moved(boards.infer(job, 1)), static_cast<double>(job.model().size()));
}

InferJob large_job() {
  Random random(1);
  InferJob job;
  std::string& model = *job.mutable_model();
  model.resize(1'500'000);  // six parts
  for (char& byte : model) byte = static_cast<char>(random.below(256));
  return job;
}

/// Rank 1 gets the job's network while one of the messages is lost, from 0 on (none: -1). Returns how many there were.
int fetch(const InferJob& job, int lost, Result<std::string>& got) {
  RoleWorld world(2);
  int sent = 0;
  world.world().set_loss([&](net::Rank, net::Rank, net::Tag tag) { return tag != kCommandTag && sent++ == lost; });
  world.replace(1, [&](job::RoleContext& context) {
    NetworkFetch fetch(context, 0.05);
    got = fetch.get(data::sha256(job.model()));
    context.endpoint.send(0, kCommandTag, "it has come");
    return Status();
  });
  world.run([&](job::RoleContext& context) -> Status {
    NetworkServer networks(job);
    while (true) {
      MG_TRY(const net::Message message,
             context.endpoint.recv_any({1}, {kFromNodeTag, kCommandTag}, context.clock.after(60)));
      if (message.tag == kCommandTag) return {};
      FromNode question;
      if (!question.ParseFromString(message.payload)) continue;
      EXPECT_TRUE(networks.answer(context.endpoint, 1, question.need_network()).ok());
    }
  });
  return sent;
}

TEST(NetworkFetch, GetsAllOfItWhicheverMessageIsLost) {
  const InferJob job = large_job();
  Result<std::string> got = std::string();
  const int messages = fetch(job, -1, got);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(*got, job.model());
  EXPECT_GE(messages, 12);
  for (int k = 0; k < messages; ++k) {
    fetch(job, k, got);
    ASSERT_TRUE(got.ok()) << k << ": " << got.error().message;
    EXPECT_TRUE(*got == job.model()) << k;
  }
}

TEST(NetworkFetch, EndsWithTheJob) {
  RoleWorld world(2);
  world.replace(1, [&](job::RoleContext& context) {
    NetworkFetch fetch(context, 60);
    const auto got = fetch.get(data::sha256("a"));
    EXPECT_EQ(got.code(), Code::cancelled);
    EXPECT_EQ(fetch.next_command().payload, "no command");
    EXPECT_TRUE(fetch.has_commands()) << "the end is kept too";
    return Status();
  });
  world.run([](job::RoleContext& context) -> Status {
    Command end;
    end.set_kind(Command::END);
    context.endpoint.send(1, kCommandTag, "no command");
    context.endpoint.send(1, kCommandTag, end.SerializeAsString());
    return {};
  });
}

TEST(NetworkFetch, RefusesAnotherNetwork) {
  RoleWorld world(2);
  world.replace(1, [&](job::RoleContext& context) {
    NetworkFetch fetch(context, 60);
    EXPECT_EQ(fetch.get("../../etc/passwd").code(), Code::invalid_argument);
    const auto got = fetch.get(data::sha256("right"));
    EXPECT_EQ(got.code(), Code::data_loss);
    return Status();
  });
  world.run([](job::RoleContext& context) -> Status {
    for (int question = 0; question < 3; ++question) {
      MG_RETURN_IF_ERROR(context.endpoint.recv({1}, kFromNodeTag, context.clock.after(60)));
      NetworkPart part;
      part.set_sha256(data::sha256("right"));
      part.set_size(5);
      context.endpoint.send(1, kNetworkTag, net::begin_payload(part.SerializeAsString(), 5) + "wrong");
    }
    return {};
  });
}

/// What the leader says to a question for a part of a network. expected: nothing: the part comes.
Result<NetworkPart> ask(NetworkServer& networks, net::Rank rank, const std::string& network, Bytes offset,
                        std::optional<Code> expected = {}) {
  net::InProcessWorld world(4);
  NeedNetwork need;
  need.set_sha256(data::sha256(network));
  need.set_offset(offset);
  const Status answered = networks.answer(world.endpoint(0), rank, need);
  EXPECT_EQ(answered.ok() ? std::nullopt : std::optional(answered.code()), expected);
  MG_TRY(const net::Message message, world.endpoint(rank).recv({0}, kNetworkTag, Deadline()));
  MG_TRY(const net::PayloadParts parts, net::split_payload(message.payload));
  NetworkPart part;
  EXPECT_TRUE(part.ParseFromArray(parts.header.data(), static_cast<int>(parts.header.size())));
  EXPECT_EQ(parts.body, answered.ok() ? std::string_view(network).substr(static_cast<std::size_t>(offset)) : "");
  return part;
}

TEST(NetworkServer, OfTiersAreGivenToTheirDevicesOnly) {
  InferJob job;
  for (const char* name : {"whole network", "rest of it"}) {
    job.add_members(name);
    job.add_tiers();
  }
  job.add_bottom_models();
  job.add_bottom_models("bottom model");
  NetworkServer networks(job);
  EXPECT_TRUE(ask(networks, 1, "whole network", 0, Code::permission_denied).ok()) << "it is not yet of a tier";
  networks.grant(1, 0);
  networks.grant(2, 1);
  EXPECT_EQ(ask(networks, 1, "whole network", 6)->size(), 13);
  EXPECT_EQ(ask(networks, 2, "rest of it", 0)->refusal(), "");
  for (const net::Rank rank : {2, 3}) {
    const auto refused = ask(networks, rank, "whole network", 0, Code::permission_denied);
    EXPECT_EQ(refused->refusal(), "it is not the network of this node's tier");
    EXPECT_EQ(refused->size(), 0);
  }
  EXPECT_TRUE(ask(networks, 1, "rest of it", 0, Code::permission_denied).ok());
  EXPECT_EQ(ask(networks, 2, "bottom model", 0, Code::invalid_argument)->refusal(), "the job has no such network");
  EXPECT_EQ(ask(networks, 2, "rest of it", 10, Code::invalid_argument)->refusal(), "it has no part at 10");
}

TEST(NetworkServer, OfOtherJobsAreGivenToAll) {
  InferJob job;
  job.add_members("one");
  job.add_members("two");
  NetworkServer networks(job);
  for (const net::Rank rank : {1, 2, 3}) EXPECT_EQ(ask(networks, rank, "two", 0)->size(), 3);
}

TEST(NetworkCache, KeepsWhatWasUsedLastWithinItsSize) {
  const mangrove::testing::TemporaryFolder folder;
  const NetworkCache cache(folder.path(), ".onnx", /*most=*/25);
  std::vector<std::string> networks;
  for (const char c : {'a', 'b', 'c'}) networks.emplace_back(10, c);
  const auto used_ago = [&](const std::string& network, int hours) {
    fs::last_write_time(folder / (data::sha256(network) + ".onnx"),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const std::size_t at : {0, 1}) {
    ASSERT_TRUE(cache.keep(data::sha256(networks[at]), networks[at]).ok());
    used_ago(networks[at], at == 0 ? 2 : 1);
  }
  EXPECT_EQ(cache.find(data::sha256(networks[0])), networks[0]);  // used: now b is the oldest
  ASSERT_TRUE(cache.keep(data::sha256(networks[2]), networks[2]).ok());
  EXPECT_EQ(cache.find(data::sha256(networks[0])), networks[0]);
  EXPECT_EQ(cache.find(data::sha256(networks[1])), std::nullopt);
  EXPECT_EQ(cache.find(data::sha256(networks[2])), networks[2]);
  const std::string large(26, 'd');
  ASSERT_TRUE(cache.keep(data::sha256(large), large).ok());
  EXPECT_EQ(cache.find(data::sha256(large)), std::nullopt);
  EXPECT_EQ(cache.find(data::sha256(networks[0])), networks[0]);
}

}  // namespace
}  // namespace mangrove::infer

#include "mangrove/cluster/open_calls.h"

#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <deque>

namespace mangrove::cluster {
namespace {

TEST(OpenCalls, EachMemberMayHaveSoMany) {
  OpenCalls calls({.all = 100, .of_one = 2});
  std::deque<grpc::ServerContext> contexts(5);
  OpenCalls::Call first(calls, &contexts[0], Instant::never()), third(calls, &contexts[1], Instant::never()),
      other(calls, &contexts[2], Instant::never());
  EXPECT_TRUE(first.take("mangrove://node/pi", "1").ok());
  {
    OpenCalls::Call second(calls, &contexts[3], Instant::never());
    EXPECT_TRUE(second.take("mangrove://node/pi", "1").ok());
    const Status refused = third.take("mangrove://node/pi", "1");
    EXPECT_EQ(refused.code(), Code::resource_exhausted);
    EXPECT_NE(refused.error().message.find("mangrove://node/pi"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(other.take("mangrove://node/other", "1").ok());
  }
  EXPECT_TRUE(third.take("mangrove://node/pi", "1").ok()) << "one has ended";
}

TEST(OpenCalls, AllTogetherMayHaveSoMany) {
  OpenCalls calls({.all = 3, .of_one = 2});
  std::deque<grpc::ServerContext> contexts(4);
  std::deque<OpenCalls::Call> open;
  for (grpc::ServerContext& context : contexts) {
    open.emplace_back(calls, &context, Instant::never());
    EXPECT_EQ(open.back().take("", "").ok(), open.size() <= 3) << open.size();
  }
}

}  // namespace
}  // namespace mangrove::cluster

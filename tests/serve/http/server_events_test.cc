#include "mangrove/serve/http/server_events.h"

#include <gtest/gtest.h>

namespace mangrove::serve {
namespace {

TEST(ServerEvents, ALineIsAFieldOfItsOwn) {
  EXPECT_EQ(server_event("progress", "{}"), "event: progress\ndata: {}\n\n");
  EXPECT_EQ(server_event("x", "a\r\nb"), "event: x\ndata: a\ndata: b\n\n");
}

}  // namespace
}  // namespace mangrove::serve

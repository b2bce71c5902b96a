#include "mangrove/cli/reports/world_picture.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/html_check.h"
#include "tests/paths.h"

#include "mangrove/cli/reports/world_history.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::problem_of;

TEST(WorldPicture, ShowsDevicesAndLinks) {
  const sim::World world = sim::load_world(testing::repository_path("examples/worlds/boards.yaml")).value();
  const std::string page = world_page("boards", world);
  EXPECT_EQ(problem_of(page), "");
  for (const char* text : {"coordinator", "pi-1", "pi-4", "8 GFLOP/s", "1.00 GB of memory", "100 Mbit/s", "200 us"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(WorldPicture, OfManyDevicesShowsTheirKinds) {
  const sim::World world = sim::load_world(testing::repository_path("examples/worlds/global.yaml")).value();
  const std::string page = world_page("global", world);
  EXPECT_EQ(problem_of(page), "");
  for (const char* text :
       {"<dd>1,000</dd>", "50 × phone", "up 5 Mbit/s", "down 20 Mbit/s", "europe, 15 ms to the middle",
        "europe to us-east: 40 ms", "10 % leave in an hour", "5 % slow, 5x"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_LT(page.size(), 200'000u);
}

TEST(WorldHistory, ShowsMessagesAndFaults) {
  WorldHistory history;
  EXPECT_EQ(history.html(), "");
  for (int i = 0; i < 100; ++i)
    history.take({{"time_s", 0.1 * i}, {"event", "message"}, {"purpose", "gradients"}, {"bytes", 200'000}});
  history.take({{"time_s", 2}, {"event", "freeze"}, {"node", "pi-<2>"}, {"for_s", 5}});
  history.take({{"time_s", 3}, {"event", "crash"}, {"node", "pi-1"}, {"for_s", 0}});
  history.take({{"time_s", 10}, {"event", "job_ended"}});
  const std::string html = history.html();
  EXPECT_EQ(problem_of(html), "");
  for (const char* text : {"pi-&lt;2&gt; freeze after 2.0 s, for 5.0 s", "pi-1 crash after 3.0 s, for good",
                           "Messages that arrived, by purpose", ">gradients<", ">MB/s<"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST(WorldHistory, IsBounded) {
  WorldHistory history;
  for (int i = 0; i < 5000; ++i) {
    const std::string name = std::to_string(i);
    history.take({{"time_s", i}, {"event", "message"}, {"purpose", name}, {"bytes", 1e300}});
    history.take({{"time_s", i}, {"event", "crash"}, {"node", name}});
  }
  const std::string html = history.html();
  EXPECT_EQ(problem_of(html), "");
  EXPECT_LT(html.size(), 100'000u);
  EXPECT_NE(html.find("and 4,800 more faults"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::cli

#include "mangrove/job/reports.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/job/still_device.h"

#include "mangrove/job/json.h"
#include "mangrove/net/in_process.h"

namespace mangrove::job {
namespace {

struct Lost {
  static constexpr const char* kEvent = "lost";
  static constexpr bool kIsWarning = true;
  std::string node;
  std::string sentence() const { return node + " is lost" + because(""); }
  static void fields(auto& self, auto& field) { field("node", self.node); }
};

struct Answers {
  static constexpr const char* kLine = "answers_of_a_tier";
  std::vector<std::int64_t> classes;
  static void fields(auto& self, auto& field) { field("classes", self.classes); }
};

struct Named {
  std::string name;
  static void fields(auto& self, auto& field) { field("name", self.name); }
};

class SomeReports final : public Reports {
 public:
  using Reports::Reports;
  using Reports::send;
};

class ReportsTest : public ::testing::Test {
 protected:
  SteadyClock clock_;
  net::InProcessWorld world_{2};
  std::vector<Report> told_;
  StillDevice device_;
  RoleContext context_{.endpoint = world_.endpoint(0),
                       .clock = clock_,
                       .device = device_,
                       .data_folder = {},
                       .stop = {},
                       .report = [this](Report report) { told_.push_back(std::move(report)); }};
  SomeReports reports_{context_};
};

TEST_F(ReportsTest, AnEventBringsItsSentenceAlong) {
  reports_.event(Lost{reports_.node(1)});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].kind, ReportKind::event);
  EXPECT_EQ(told_[0].json, R"({"event":"lost","node":"rank-1","sentence":"rank-1 is lost","warning":true})");
  const auto head = parse_json<EventHead>(told_[0].json);
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_EQ(head->event, Lost::kEvent);
  EXPECT_EQ(head->sentence, "rank-1 is lost");
  EXPECT_EQ(head->is_warning, true);
}

TEST_F(ReportsTest, ALineOfAStrategyBringsItsNameAlong) {
  reports_.line(Answers{{1, 2}});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].kind, ReportKind::line);
  EXPECT_EQ(told_[0].json, R"({"kind":"answers_of_a_tier","classes":[1,2]})");
}

TEST(Listed, SaysHowManyMoreThereAre) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a", "b"}), "a, b");
  EXPECT_EQ(listed(std::vector<std::string>(10, "x")), "x, x, x, x, x, x, x, x and 2 more");
}

TEST_F(ReportsTest, ProgressSaysHowLongItStillTakes) {
  reports_.progress({.phase = "train", .epoch = 2, .done = 30, .total = 90, .images_per_s = 20});
  reports_.progress("validate", 0, 90, 0);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[0].kind, ReportKind::progress);
  EXPECT_EQ(told_[0].json, R"({"phase":"train","epoch":2,"done":30,"total":90,"images_per_s":20.0,"eta_s":3.0})");
  EXPECT_EQ(Json::parse(told_[1].json)["eta_s"], 0) << "not known yet";
}

TEST_F(ReportsTest, NamesFromOtherMachinesMayHoldAnyBytes) {
  reports_.send(ReportKind::result,
                Named{"a\xff"
                      "b"},
                "file");
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].attachment, "file");
  EXPECT_EQ(Json::parse(told_[0].json)["name"],
            "a\xef\xbf\xbd"
            "b");
}

TEST(Throttle, PassesFiveTimesASecondAndAtTheEnd) {
  Throttle throttle(Instant{10});
  EXPECT_FALSE(throttle.passes({10.1}, false));
  EXPECT_TRUE(throttle.passes({10.25}, false));
  EXPECT_FALSE(throttle.passes({10.4}, false));
  EXPECT_TRUE(throttle.passes({10.41}, true));
  EXPECT_FALSE(throttle.passes({10.5}, false));
  EXPECT_TRUE(Throttle().passes({0}, false)) << "nothing was told before";
}

}  // namespace
}  // namespace mangrove::job

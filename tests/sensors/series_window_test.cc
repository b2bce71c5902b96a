#include "mangrove/sensors/series_window.h"

#include <gtest/gtest.h>

#include <vector>

#include "mangrove/sensors/series_table.h"

namespace mangrove::sensors {
namespace {

using Windows = std::vector<std::vector<float>>;

constexpr Seconds kStart = 1'699'999'200;  // a multiple of all window lengths here

/// A series, to which values come at the moment of their measurement unless a test says otherwise.
struct Series {
  explicit Series(const WindowOptions& options, std::size_t rows = 1) : window(options, rows) {}
  void add(Seconds time, float value, std::size_t row = 0) { add_at(time, value, time, row); }
  void add_at(Seconds time, float value, Seconds arrived, std::size_t row = 0) {
    for (auto& one : window.add(row, kStart + time, value, kStart + arrived)) windows.push_back(std::move(one));
  }
  SeriesWindow window;
  Windows windows;
};

TEST(SeriesWindow, IsCompleteWhenTheNextOneBegins) {
  Series series({.length = 4});
  for (int t = 0; t < 9; ++t) series.add(t, static_cast<float>(t));
  EXPECT_EQ(series.windows, (Windows{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(SeriesWindow, OverlapsByItsHop) {
  Series series({.length = 4, .hop = 2});
  for (int t = 0; t < 9; ++t) series.add(t, static_cast<float>(t));
  EXPECT_EQ(series.windows, (Windows{{0, 1, 2, 3}, {2, 3, 4, 5}, {4, 5, 6, 7}}));
}

TEST(SeriesWindow, LeavesOutWhatLiesBetweenWindows) {
  Series series({.length = 2, .hop = 4});
  for (int t = 0; t < 8; ++t) series.add(t, static_cast<float>(t));
  EXPECT_EQ(series.windows, (Windows{{0, 1}, {4, 5}}));
}

TEST(SeriesWindow, ASlotWithoutAValueHasTheLastOne) {
  Series series({.length = 4, .missing = Missing::last});
  for (const int t : {0, 3, 6, 7, 8}) series.add(t, static_cast<float>(t));
  EXPECT_EQ(series.windows, (Windows{{0, 0, 0, 3}, {3, 3, 6, 7}})) << "the last value of the window before counts, too";
  EXPECT_EQ(series.window.counts().filled, 4U);
}

TEST(SeriesWindow, ASlotWithoutAValueLiesOnTheLine) {
  Series series({.length = 4, .missing = Missing::linear});
  for (const int t : {0, 3, 6, 7, 8}) series.add(t, static_cast<float>(10 * t));
  EXPECT_EQ(series.windows, (Windows{{0, 10, 20, 30}, {40, 50, 60, 70}}));
}

TEST(SeriesWindow, AWindowWithAGapIsSkipped) {
  Series series({.length = 4, .missing = Missing::skip});
  for (const int t : {0, 1, 3, 4, 5, 6, 7, 8}) series.add(t, static_cast<float>(t));
  EXPECT_EQ(series.windows, (Windows{{4, 5, 6, 7}}));
  EXPECT_EQ(series.window.counts().skipped, 1U);
}

TEST(SeriesWindow, WaitsForLateValuesAndTakesThemInAnyOrder) {
  Series series({.length = 4, .lateness = 2});
  for (const int t : {3, 1, 0, 2, 5, 4}) series.add_at(t, static_cast<float>(t), 5);
  EXPECT_TRUE(series.windows.empty()) << "5 is not 2 s beyond the window's end";
  series.add(6, 6);
  EXPECT_EQ(series.windows, (Windows{{0, 1, 2, 3}}));
  series.add_at(3, 99, 6);
  EXPECT_EQ(series.window.counts().late, 1U);
  series.add(7, 7);
  series.add(10, 10);
  EXPECT_EQ(series.windows.back(), (std::vector<float>{4, 5, 6, 7})) << "the late value changed nothing";
}

TEST(SeriesWindow, OfTwoValuesInASlotTheLaterOneStaysWhateverTheirOrder) {
  Series series({.length = 2});
  series.add(0.2, 1);
  series.add(0.8, 2);
  series.add_at(0.5, 3, 1);
  series.add_at(0.8, 4, 1);
  series.add(1, 5);
  series.add(2, 6);
  EXPECT_EQ(series.windows, (Windows{{2, 5}}));
  EXPECT_EQ(series.window.counts().duplicate, 1U);
}

TEST(SeriesWindow, JoinsRowsByTheirTimes) {
  Series series({.length = 3}, 2);
  for (int t = 0; t < 4; ++t) {
    series.add(t, static_cast<float>(t), 0);
    series.add(t + 0.4, static_cast<float>(10 * t), 1);
  }
  EXPECT_EQ(series.windows, (Windows{{0, 1, 2, 0, 10, 20}}));
}

TEST(SeriesWindow, ARowThatHasDiedHoldsTheOthersNotUp) {
  Series series({.length = 2, .missing = Missing::last}, 2);
  series.add(0, 7, 1);
  for (int t = 0; t < 5; ++t) series.add(t, static_cast<float>(t), 0);
  EXPECT_EQ(series.windows, (Windows{{0, 1, 7, 7}, {2, 3, 7, 7}}));
}

TEST(SeriesWindow, OfARowThatNeverSpokeNothingIsMadeUp) {
  Series series({.length = 2}, 2);
  for (int t = 0; t < 5; ++t) series.add(t, static_cast<float>(t), 0);
  EXPECT_TRUE(series.windows.empty());
  EXPECT_EQ(series.window.counts().skipped, 2U);
}

TEST(SeriesWindow, RefusesTheFuture) {
  Series series({.length = 2, .ahead = 60});
  series.add(0, 1);
  series.add_at(1e9, 99, 1);
  series.add(1, 2);
  series.add(2, 3);
  EXPECT_EQ(series.windows, (Windows{{1, 2}}));
  EXPECT_EQ(series.window.counts().ahead, 1U);
}

TEST(SeriesWindow, AClockThatIsSetForwardsBeginsTheSeriesAnew) {
  Series series({.length = 2});
  series.add(0, 1);
  series.add(1e6, 10);
  EXPECT_TRUE(series.windows.empty()) << "there are no windows of the time that was leapt over";
  series.add(1e6 + 1, 11);
  series.add(1e6 + 2, 12);
  EXPECT_EQ(series.windows, (Windows{{10, 11}}));
  EXPECT_EQ(series.window.counts().jumps, 1U);
}

TEST(SeriesWindow, AClockThatIsSetBackBeginsTheSeriesAnewAfterAWindowOfLateValues) {
  Series series({.length = 3});
  for (int t = 0; t < 4; ++t) series.add(900 + t, 1);
  ASSERT_EQ(series.windows.size(), 1U);
  for (int t = 0; t < 12; ++t) series.add_at(t, static_cast<float>(t), 904 + t);
  EXPECT_EQ(series.window.counts().late, 3U);
  EXPECT_EQ(series.window.counts().jumps, 1U);
  EXPECT_EQ(series.windows.back(), (std::vector<float>{6, 7, 8}));
}

TEST(SeriesTable, NumbersOfAMessageLieInSlotsOneAfterTheOther) {
  SeriesTable table;
  WindowCounts counts;
  const SeriesTable::Group group{.options = {.length = 4, .period = 0.5}, .rows = 1};
  const Reading reading{.values = {0, 1, 2, 3, 4}, .time = kStart};
  EXPECT_EQ(table.add(group, "a", 0, reading, kStart + 3, counts), (Windows{{0, 1, 2, 3}}));
}

TEST(SeriesTable, SeriesAreApartAndTheOneThatIsSilentForLongestMakesRoom) {
  SeriesTable table;
  WindowCounts counts;
  const SeriesTable::Group group{.options = {.length = 2}, .rows = 1};
  for (int i = 0; i < 3000; ++i)
    table.add(group, std::to_string(i), 0, {.values = {1}, .time = kStart}, kStart, counts);
  EXPECT_EQ(table.size(0), 1000U);
  EXPECT_TRUE(table.add(group, "2999", 0, {.values = {2}, .time = kStart + 1}, kStart + 1, counts).empty());
  EXPECT_EQ(counts.evicted, 2000U);
  EXPECT_EQ(table.add(group, "2999", 0, {.values = {3}, .time = kStart + 2}, kStart + 2, counts), (Windows{{1, 2}}));
}

TEST(SeriesTable, ManySeriesOfOneGroupThrowNothingOfOthersAway) {
  SeriesTable table(2);
  WindowCounts counts;
  const SeriesTable::Group quiet{.number = 0, .options = {.length = 2}, .rows = 1};
  const SeriesTable::Group loud{.number = 1, .options = {.length = 2000}, .rows = 1};
  table.add(quiet, "a", 0, {.values = {1, 2}, .time = kStart}, kStart + 1, counts);
  for (int i = 0; i < 1500; ++i) table.add(loud, std::to_string(i), 0, {.values = {1}, .time = kStart}, kStart, counts);
  EXPECT_EQ(table.size(1), 500U) << "half of 4,000,000 values";
  EXPECT_EQ(table.add(quiet, "a", 0, {.values = {3}, .time = kStart + 2}, kStart + 2, counts), (Windows{{1, 2}}));
}

}  // namespace
}  // namespace mangrove::sensors

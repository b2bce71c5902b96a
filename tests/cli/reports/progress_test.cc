#include "mangrove/cli/reports/progress.h"

#include <gtest/gtest.h>

#include "mangrove/cli/reports/terminal.h"

namespace mangrove::cli {
namespace {

job::Progress training_progress() {
  return {.phase = "train",
          .epoch = 1,
          .epochs = 3,
          .step = 15,
          .steps = 105,
          .loss = 2.2986,
          .accuracy = 0.9265,
          .done = 500,
          .total = 1000,
          .images_per_s = 26591.3,
          .eta = 2.8};
}

TEST(ProgressLine, HasNumbersForPeople) {
  EXPECT_EQ(progress_line(training_progress(), 200),
            "train    [############............]  50 %  epoch 1/3  step 15/105  loss 2.2986  accuracy 92.65 %  "
            "26,591 images/s  2.8 s left");
}

TEST(ProgressLine, FitsAnyWidthAndKeepsWhatMattersMost) {
  for (int columns = 0; columns < 140; ++columns)
    EXPECT_LE(text_width(progress_line(training_progress(), columns)), columns) << columns;
  const std::string line = progress_line(training_progress(), 79);
  for (const char* part : {"train", "50 %", "accuracy 92.65 %", "26,591 images/s", "2.8 s left"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_EQ(line.find("step"), std::string::npos) << line;
}

TEST(ProgressLine, SaysNothingOfTimeLeftAtTheEnd) {
  job::Progress end = training_progress();
  end.done = 1000;
  end.eta = 0;
  EXPECT_EQ(progress_line(end, 200).find("left"), std::string::npos);
  EXPECT_NE(progress_line({.phase = "job"}, 80).find("0 %"), std::string::npos);
}

TEST(ProgressLine, TellsNoRateThatIsNotKnown) {
  EXPECT_EQ(progress_line({.phase = "train", .done = 1, .total = 4, .eta = 3}, 80),
            "train    [######..................]  25 %  3.0 s left");
}

TEST(WaitLine, TellsHowLongItTakesAndWhatIsLeftWhereThatIsKnown) {
  EXPECT_EQ(wait_line("start", 2.5, 0, 80), "start    2.5 s");
  EXPECT_EQ(wait_line("cut", 2.5, 10, 80), "cut      [######..................]  25 %  7.5 s left");
  EXPECT_EQ(wait_line("cut", 12, 10, 80), "cut      [########################] 100 %");
  EXPECT_EQ(wait_line("start", 2.5, 0, 5), "start");
}

}  // namespace
}  // namespace mangrove::cli

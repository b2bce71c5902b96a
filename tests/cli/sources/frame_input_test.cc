#include "mangrove/cli/sources/frame_input.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace mangrove::cli {
namespace {

const std::string kEnd = "\xFF\xD9";

/// As a JPEG is built, with this in its scan.
std::string jpeg(const std::string& scan) {
  return std::string("\xFF\xD8\xFF\xE0\x00\x04", 6) + "ab" + std::string("\xFF\xDA\x00\x03", 4) + "c" + scan + kEnd;
}

/// The frames of a stream that comes in pieces of so many bytes.
std::vector<job::Frame> split(const std::string& stream, std::size_t piece) {
  JpegSplitter splitter;
  std::vector<job::Frame> frames;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    splitter.add(stream.substr(at, piece));
    while (auto frame = splitter.next(/*is_end=*/false)) frames.push_back(std::move(*frame));
  }
  while (auto frame = splitter.next(/*is_end=*/true)) frames.push_back(std::move(*frame));
  return frames;
}

TEST(JpegSplitter, TakesJpegsApartHoweverTheyCome) {
  const std::vector<std::string> images = {jpeg("one"), jpeg(""), jpeg(std::string("\xFF\x00 data \xFF\xD3", 10))};
  const std::string stream = images[0] + images[1] + images[2];
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    const std::vector<job::Frame> frames = split(stream, piece);
    ASSERT_EQ(frames.size(), 3u) << piece;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(frames[i].image, images[i]) << piece;
      EXPECT_EQ(frames[i].name, "frame-" + std::to_string(i));
      EXPECT_EQ(frames[i].problem, "");
    }
  }
}

TEST(JpegSplitter, GoesOnBehindWhatIsNoJpeg) {
  for (const std::string& noise : {std::string("noise"), std::string("\xFF\xD8\xFF\xE0", 4), std::string("\xFF")}) {
    const std::string stream = jpeg("a") + noise + jpeg("b");
    for (const std::size_t piece : {1u, 7u, 1000u}) {
      const std::vector<job::Frame> frames = split(stream, piece);
      ASSERT_GE(frames.size(), 2u) << piece;
      EXPECT_EQ(frames.front().image, jpeg("a"));
      if (noise == "noise") {
        ASSERT_EQ(frames.size(), 3u) << piece;
        EXPECT_NE(frames[1].problem.find("5 bytes"), std::string::npos) << frames[1].problem;
        EXPECT_EQ(frames[2].image, jpeg("b"));
      }
    }
  }
}

TEST(JpegSplitter, TellsOfAJpegThatDoesNotEnd) {
  const std::string whole = jpeg("cut");
  const std::vector<job::Frame> frames = split(whole + whole.substr(0, whole.size() - 2), 5);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].image, whole);
  EXPECT_FALSE(frames[1].problem.empty());
}

TEST(FrameInput, OfAFolderIsInTheOrderOfNames) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"b.png", "a.jpg", "c.txt"}) ASSERT_TRUE(write_file_atomically(folder / name, name).ok());
  auto input = FrameInput::open(folder.path().string());
  ASSERT_TRUE(input.ok()) << input.error().message;
  EXPECT_EQ((*input)->next({})->name, (folder / "a.jpg").string());
  EXPECT_EQ((*input)->next({})->image, "b.png");
  EXPECT_FALSE((*input)->next({}));
}

TEST(FrameInput, ThatIsNotThereIsAnErrorWithItsName) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(FrameInput::open((folder / "none").string()).code(), Code::not_found);
  const auto empty = FrameInput::open(folder.path().string());
  EXPECT_EQ(empty.code(), Code::not_found);
  EXPECT_NE(empty.error().message.find(folder.path().string()), std::string::npos) << empty.error().message;
}

}  // namespace
}  // namespace mangrove::cli

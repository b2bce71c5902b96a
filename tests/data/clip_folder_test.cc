#include "mangrove/data/clip_folder.h"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <cmath>
#include <functional>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

#include "mangrove/base/random.h"
#include "mangrove/data/image.h"
#include "mangrove/data/motion_jpeg.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::write;

/// A JPEG of one grey.
std::string jpeg(int width, int height, int grey) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height * 3), static_cast<std::uint8_t>(grey));
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(encoder, pixels.data(), width, 0, height, TJPF_RGB, &bytes, &size, TJSAMP_420, 95, 0), 0);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return file;
}

/// The JPEG without its Huffman tables, as cameras write the frames of AVI files.
std::string without_tables(const std::string& file) {
  std::string out = file.substr(0, 2);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(file[i]); };
  for (std::size_t at = 2; byte(at + 1) != 0xD9;) {
    const std::size_t length = 2 + (byte(at + 2) << 8 | byte(at + 3));
    if (byte(at + 1) == 0xDA) return out + file.substr(at);
    if (byte(at + 1) != 0xC4) out += file.substr(at, length);
    at += length;
  }
  return out;
}

std::string chunk(const std::string& name, const std::string& content) {
  std::string size;
  for (const unsigned shift : {0u, 8u, 16u, 24u}) size += static_cast<char>(content.size() >> shift & 0xff);
  return name + size + content + (content.size() % 2 == 1 ? std::string(1, '\0') : "");
}

std::string avi(const std::vector<std::string>& frames) {
  std::string movie = "movi";
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i == 1) movie += chunk("LIST", "rec " + chunk("01wb", "sound") + chunk("00dc", frames[i]));
    if (i != 1) movie += chunk("00dc", frames[i]);
    movie += chunk("02dc", "the frame of another stream");
    movie += chunk("00dc", "");  // a frame that was left out
  }
  const std::string header = chunk("LIST", "hdrl" + chunk("avih", std::string(56, '\1')));
  return chunk("RIFF", "AVI " + header + chunk("LIST", movie) + chunk("idx1", std::string(16, '\2')));
}

/// Frames of greys 0, 20, 40, ...
std::vector<std::string> frames(int count, int width = 16, int height = 16) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(jpeg(width, height, 20 * i));
  return all;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

struct ClipFolderTest : ::testing::Test {
  Result<std::shared_ptr<const Dataset>> open(const std::string& options = "", Split split = Split::train) const {
    return open_dataset("clips:" + folder.path().string() + options, split, "/nowhere");
  }
  /// Which frames a sample has.
  static std::vector<int> taken(const Dataset& clips, std::uint32_t index, std::size_t count) {
    std::vector<float> sample(static_cast<std::size_t>(clips.sample_shape().elements()));
    const Status status = clips.read(index, sample);
    EXPECT_TRUE(status.ok()) << status.error().message;
    std::vector<int> found;
    for (std::size_t i = 0; i < count; ++i)
      found.push_back(static_cast<int>(std::lround(sample[i * sample.size() / count] * 255 / 20)));
    return found;
  }
  void expect_unreadable(const std::string& part, const std::string& file) const {
    const auto clips = open(",frames=2,size=8,channels=3");
    ASSERT_TRUE(clips.ok()) << clips.error().message;
    std::vector<float> sample(static_cast<std::size_t>((*clips)->sample_shape().elements()));
    const Status status = (*clips)->read(0, sample);
    ASSERT_FALSE(status.ok()) << part;
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find(file), std::string::npos) << status.error().message;
  }
  const TemporaryFolder folder;
};

TEST_F(ClipFolderTest, FilesAndFoldersOfFramesAreClips) {
  write(folder / "fall" / "a.avi", avi(frames(6)));
  write(folder / "fall" / "b.mjpeg", joined(frames(12)));
  for (int i = 0; i < 3; ++i) write(folder / "walk" / "c" / ("frame" + std::to_string(i) + ".jpg"), frames(3)[i]);
  write(folder / "walk" / "notes.txt", "no clip");
  const auto clips = open(",frames=3");
  ASSERT_TRUE(clips.ok()) << clips.error().message;
  EXPECT_EQ((*clips)->size(), 3u);
  EXPECT_EQ((*clips)->class_names(), (std::vector<std::string>{"fall", "walk"}));
  EXPECT_EQ((*clips)->sample_shape(), (Shape{9, 16, 16})) << "three frames of three channels";
  EXPECT_EQ((*clips)->label(0), 0);
  EXPECT_EQ((*clips)->label(1), 1);
  EXPECT_TRUE((*clips)->decodes());
  EXPECT_EQ(taken(**clips, 0, 3), (std::vector<int>{1, 3, 5})) << "the middle of each third";
  EXPECT_EQ(taken(**clips, 1, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(taken(**clips, 2, 3), (std::vector<int>{2, 6, 10}));
  EXPECT_EQ(taken(**open(",frames=8"), 1, 8), (std::vector<int>{0, 0, 0, 1, 1, 2, 2, 2})) << "a short one";
}

TEST_F(ClipFolderTest, SizeChannelsAndSplitsAreThoseOfImages) {
  write(folder / "train" / "a" / "x.mjpg", joined(frames(4, 32, 16)));
  write(folder / "test" / "a" / "y.avi", avi(frames(4, 8, 8)));
  EXPECT_EQ((*open())->sample_shape(), (Shape{24, 16, 32})) << "eight frames, as the first is";
  const auto test = open(",size=12x10,channels=1,frames=2", Split::test);
  ASSERT_TRUE(test.ok()) << test.error().message;
  EXPECT_EQ((*test)->sample_shape(), (Shape{2, 10, 12}));
  EXPECT_EQ(taken(**test, 0, 2), (std::vector<int>{1, 3}));
  EXPECT_EQ(open(",frames=0").code(), Code::invalid_argument);
  EXPECT_EQ(open(",frames=256,size=4096").code(), Code::invalid_argument) << "12 GB a sample";
}

TEST_F(ClipFolderTest, FramesWithoutTablesAreDecoded) {
  std::vector<std::string> bare;
  for (const std::string& frame : frames(4)) bare.push_back(without_tables(frame));
  ASSERT_LT(bare[0].size() + 300, frames(1)[0].size());
  write(folder / "a" / "x.avi", avi(bare));
  EXPECT_EQ(taken(**open(",frames=4"), 0, 4), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(ClipFolderTest, SaysWhatIsWrong) {
  EXPECT_EQ(open().code(), Code::not_found);
  fs::create_directories(folder / "a");
  EXPECT_NE(open().error().message.find("no clips (.avi, .mjpeg, or folders of frames)"), std::string::npos);
  const fs::path file = folder / "a" / "x.avi";
  write(file, "");
  EXPECT_EQ(open().code(), Code::data_loss) << "the first tells the size";
  expect_unreadable("not a Motion-JPEG clip", "x.avi");
  write(file, avi({}));
  expect_unreadable("no frames in it", "x.avi");
  write(file, avi({"H.264"}));
  expect_unreadable("frame 0 is not a JPEG: only Motion-JPEG is read", "x.avi");
  std::string grey = frames(2)[1];
  grey.replace(20, 40, std::string(40, 'x'));
  write(file, avi({grey, grey}));
  expect_unreadable("x.avi: frame 0: JPEG", "x.avi");
  write(file, joined(frames(2)) + "more");
  expect_unreadable("a JPEG expected at byte", "x.avi");
  fs::remove(file);
  fs::create_directories(folder / "a" / "y");
  expect_unreadable("no frames in it: expected images", "y");
}

TEST(FindFrames, EveryTruncationOfJpegsIsTold) {
  const std::string good = joined(frames(2));
  const std::size_t first = frames(1)[0].size();
  const auto find = [](const std::string& file) {
    return find_frames({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  };
  EXPECT_EQ(find(good)->size(), 2u);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto found = find(good.substr(0, size));
    if (size == first) {
      EXPECT_EQ(found->size(), 1u);
    } else {
      ASSERT_FALSE(found.ok()) << size;
      EXPECT_EQ(found.code(), Code::data_loss);
    }
  }
}

TEST(FindFrames, WhateverIsInAFileFramesLieInIt) {
  const std::vector<std::string> files = {avi(frames(3)), joined(frames(3))};
  Random random(3);
  for (int round = 0; round < 4000; ++round) {
    std::string file = files[random.below(2)];
    for (std::uint64_t i = random.below(8); i-- > 0;)
      file[random.below(i % 2 == 0 ? 200 : file.size())] = static_cast<char>(random.next());
    file.resize(random.below(4) == 0 ? random.below(file.size()) : file.size());
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    const auto found = find_frames(bytes);
    if (!found.ok()) continue;
    for (const auto frame : *found) {
      ASSERT_GE(frame.data(), bytes.data());
      ASSERT_LE(frame.data() + frame.size(), bytes.data() + bytes.size());
    }
  }
}

TEST(FindFrames, ListsInListsEnd) {
  std::string nested = "movi";
  for (int i = 0; i < 100; ++i) nested = "rec " + chunk("LIST", nested);
  const std::string file = chunk("RIFF", "AVI " + chunk("LIST", nested));
  const auto found = find_frames({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  EXPECT_EQ(found.code(), Code::data_loss);
  EXPECT_NE(found.error().message.find("too deep"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::data

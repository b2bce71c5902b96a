#include "mangrove/data/shards.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

#include "mangrove/base/random.h"
#include "mangrove/data/glyphs.h"
#include "mangrove/data/sample_bytes.h"
#include "mangrove/data/shard_file.h"
#include "mangrove/data/subset.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::write;

/// Samples of floats that are no 255ths, but for some.
class Sensors final : public Dataset {
 public:
  std::uint32_t size() const override { return 50; }
  Shape sample_shape() const override { return {2, 8}; }
  const std::vector<std::string>& class_names() const override { return names_; }
  const CoarseLabels* coarse() const override { return &coarse_; }
  std::string title() const override { return "walks"; }
  std::int32_t label(std::uint32_t index) const override { return static_cast<std::int32_t>(index % 3); }
  Status read(std::uint32_t index, std::span<float> out) const override {
    Random random(index);
    for (float& value : out) value = index % 10 == 0 ? 1 : static_cast<float>(random.normal());
    out[0] = index % 7 == 0 ? -0.0f : index % 7 == 1 ? std::numeric_limits<float>::quiet_NaN() : out[0];
    return {};
  }

 private:
  std::vector<std::string> names_ = {"walk", "run", "r\xffst"};
  CoarseLabels coarse_ = {{"up", "down"}, {0, 0, 1}};
};

std::vector<float> sample_of(const Dataset& dataset, std::uint32_t index) {
  std::vector<float> values(static_cast<std::size_t>(dataset.sample_shape().elements()));
  const Status status = dataset.read(index, values);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return values;
}

void expect_same(const Dataset& found, const Dataset& expected) {
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(found.sample_shape(), expected.sample_shape());
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found.label(i), expected.label(i)) << i;
    const auto a = sample_of(found, i), b = sample_of(expected, i);
    ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << "bit for bit, sample " << i;
  }
}

struct ShardsTest : ::testing::Test {
  Result<std::shared_ptr<const Dataset>> open(Split split = Split::train, const std::string& options = "") const {
    return open_dataset("shards:" + folder.path().string() + options, split, "/nowhere");
  }
  Result<PackedSplit> pack(const Dataset& dataset, const PackOptions& options, Split split = Split::train) const {
    return write_shards(dataset, split, folder.path(), options, [](auto) {}, {});
  }
  void expect_refused(Code code, const std::string& part) const {
    const auto opened = open();
    ASSERT_FALSE(opened.ok()) << part;
    EXPECT_EQ(opened.code(), code) << opened.error().message;
    EXPECT_NE(opened.error().message.find(part), std::string::npos) << opened.error().message;
  }
  fs::path shard(int number) const { return folder.path() / ("train-0000" + std::to_string(number) + ".shard"); }
  const TemporaryFolder folder;
};

TEST_F(ShardsTest, HoldTheSameSamplesBitForBit) {
  const auto glyphs = first_samples(make_glyphs(Split::train), 100);
  for (const bool compress : {false, true}) {
    const TemporaryFolder other;
    std::uint32_t told = 0;
    const auto packed = write_shards(*glyphs, Split::train, other.path(),
                                     {.shard_bytes = 10'000, .compress = compress, .title = "glyphs"},
                                     [&](std::uint32_t done) { told = done; }, {});
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    EXPECT_EQ(packed->samples, 100u);
    EXPECT_EQ(told, 100u);
    // a path alone is enough
    const auto opened = open_dataset(other.path().string(), Split::train, "/nowhere");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    expect_same(**opened, *glyphs);
    EXPECT_EQ((*opened)->class_names(), glyphs->class_names());
    EXPECT_EQ((*opened)->title(), "glyphs");
    ASSERT_NE((*opened)->coarse(), nullptr);
    EXPECT_EQ((*opened)->coarse()->of_class, glyphs->coarse()->of_class);
    EXPECT_EQ((*opened)->decodes(), compress);
    EXPECT_EQ((*opened)->run_ends().size(), packed->shards);
    if (compress) {
      EXPECT_LT(packed->bytes, 60'000) << "of 79,600";
    } else {
      EXPECT_EQ(packed->shards, 9u) << "12 samples of 784 + 12 bytes in each";
    }
    for (const auto& file : fs::directory_iterator(other.path())) EXPECT_LT(file.file_size(), 10'500u);
  }
}

TEST_F(ShardsTest, HoldFloatsCoarseClassesAndSplits) {
  const Sensors sensors;
  ASSERT_TRUE(pack(sensors, {.shard_bytes = 600, .compress = true}).ok());
  ASSERT_TRUE(pack(*first_samples(std::make_shared<Sensors>(), 5), {}, Split::test).ok());
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  expect_same(**opened, sensors);
  EXPECT_EQ((*opened)->title(), "walks");
  EXPECT_EQ((*opened)->class_names()[2], "r\xEF\xBF\xBDst") << "what is no UTF-8 is replaced";
  ASSERT_NE((*opened)->coarse(), nullptr);
  EXPECT_EQ((*opened)->coarse()->of_class, sensors.coarse()->of_class);
  EXPECT_EQ((*open(Split::test))->size(), 5u);
  EXPECT_EQ(open(Split::validation).code(), Code::not_found);
  EXPECT_EQ((*open(Split::validation, ",validation=10"))->size(), 9u) << "carved, of each class alike";
}

TEST_F(ShardsTest, ASampleThatIsLargerThanAShardHasOneOfItsOwn) {
  const auto packed = pack(Sensors(), {.shard_bytes = 1});
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->shards, 50u);
  expect_same(**open(), Sensors());
}

TEST_F(ShardsTest, ASubsetKnowsItsRuns) {
  ASSERT_TRUE(pack(Sensors(), {.shard_bytes = 1}).ok());
  const auto all = *open();
  EXPECT_EQ(subset(all, {1, 3, 40})->run_ends(), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_TRUE(subset(all, {3, 1})->run_ends().empty()) << "in another order there are none";
}

TEST_F(ShardsTest, AreNotWrittenOverOthersOrHalf) {
  ASSERT_TRUE(pack(Sensors(), {}).ok());
  const auto again = pack(Sensors(), {});
  EXPECT_EQ(again.code(), Code::already_exists);
  EXPECT_NE(again.error().message.find("train-00000.shard"), std::string::npos);

  const TemporaryFolder stopped;
  std::stop_source stop;
  const auto halfway = [&](std::uint32_t done) {
    if (done == 25) stop.request_stop();
  };
  const auto packed =
      write_shards(Sensors(), Split::train, stopped.path(), {.shard_bytes = 600}, halfway, stop.get_token());
  EXPECT_EQ(packed.code(), Code::cancelled);
  const auto opened = open_dataset("shards:" + stopped.path().string(), Split::train, "/");
  EXPECT_EQ(opened.code(), Code::data_loss);
  EXPECT_NE(opened.error().message.find("the shards that follow it are missing"), std::string::npos)
      << opened.error().message;
}

TEST_F(ShardsTest, SaysWhatIsWrongWithTheFolder) {
  expect_refused(Code::not_found, "no shards in it");
  EXPECT_EQ(open_dataset("shards:none", Split::train, "/nowhere").code(), Code::not_found);
  ASSERT_TRUE(pack(Sensors(), {.shard_bytes = 600}).ok());
  const auto mixed = open_dataset(folder.path().string() + ",size=4", Split::train, "/nowhere");
  EXPECT_EQ(mixed.code(), Code::invalid_argument) << "the size is of images in folders";
  const std::string second = *read_file(shard(1));
  fs::rename(shard(1), folder / "elsewhere");
  expect_refused(Code::data_loss, "train-00002.shard: it begins with sample");
  fs::copy_file(shard(0), shard(1));
  expect_refused(Code::data_loss, "train-00001.shard: it begins with sample 0");
  fs::remove(shard(1));
  ASSERT_TRUE(pack(*first_samples(make_glyphs(Split::train), 1), {}, Split::test).ok());
  fs::copy_file(folder / "test-00000.shard", shard(1));
  expect_refused(Code::data_loss, "it is of the split 'test'");
  write(shard(1), second);
  expect_same(**open(), Sensors());
}

/// The shard with another header, checksums right.
std::string with_header(const std::string& shard, const std::string& from, const std::string& to) {
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, shard.data() + at, 4);
    return value;
  };
  std::string header = shard.substr(20, number(12));
  const std::size_t place = header.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  header.replace(place, from.size(), to);
  std::string rest = shard.substr(20 + number(12));
  const std::string index = rest.substr(0, 50 * ShardBuilder::kIndexBytes), described = header + index;
  const auto size = static_cast<std::uint32_t>(header.size());
  const auto sum =
      static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(described.data()), described.size()));
  std::string file = shard.substr(0, 20) + header + rest;
  std::memcpy(file.data() + 12, &size, 4);
  std::memcpy(file.data() + 16, &sum, 4);
  return file;
}

TEST_F(ShardsTest, HostileHeadersAreRefusedByName) {
  ASSERT_TRUE(pack(Sensors(), {}).ok());
  const std::string good = *read_file(shard(0));
  const struct {
    const char *from, *to, *part;
  } cases[] = {
      {"\"samples\":50", "\"samples\":4294967295", "truncated: an index of 4294967295 samples"},
      {"\"samples\":50", "\"samples\":0", "'samples' is not above 0"},
      {"\"samples\":50", "\"samples\":-1", "'samples' is not a whole number"},
      {"\"first\":0", "\"first\":4294967290", "'samples' is not a whole number up to 5"},
      {"[2,8]", "[4294967296,4294967296]", "'sample_shape' is not a shape"},
      {"[2,8]", "[2,0]", "'sample_shape' is not a shape"},
      {"[2,8]", "[]", "'sample_shape' is not a shape"},
      {"[2,8]", "[1,1,1,1,16]", "'sample_shape' is not a shape"},
      {"[2,8]", "[1]", "sample 0 has 64 bytes: expected 1 to 4"},
      {"\"walk\",", "", "'coarse_of_class' is not a coarse class for each class"},
      {"[\"walk\",", "[7,", "'classes' is not a list of names"},
      {"[0,0,1]", "[0,0,2]", "'coarse_of_class' is not"},
      {"\"last\":true", "\"last\":1", "'last' is not true or false"},
      {"\"title\":\"walks\"", "\"title\":[]", "'title' is not a text"},
      {"{", "[", "is not a JSON object"},
  };
  for (const auto& [from, to, part] : cases) {
    write(shard(0), with_header(good, from, to));
    expect_refused(Code::data_loss, part);
    expect_refused(Code::data_loss, "train-00000.shard");
  }
  write(shard(0), with_header(good, "\"last\":true", "\"last\":true,\"more\":1"));
  EXPECT_TRUE(open().ok()) << "what is not known does no harm";
}

TEST_F(ShardsTest, OtherFilesAndLaterVersionsAreRefused) {
  ASSERT_TRUE(pack(Sensors(), {}).ok());
  std::string file = *read_file(shard(0));
  file[8] = 2;
  write(shard(0), file);
  expect_refused(Code::unimplemented, "a shard of version 2: expected 1");
  for (const char* other : {"", "MGSHARD", "no shard at all, but long enough for its header"}) {
    write(shard(0), other);
    expect_refused(Code::data_loss, "not a shard");
  }
}

/// Reads all that can be read. Whatever the file is, that ends well or with an error that names it.
void read_shards(const ShardFile& file, const std::string& path) {
  std::vector<float> sample(static_cast<std::size_t>(file.header().sample_shape.elements()));
  for (std::uint32_t i = 0; i < file.header().samples; ++i) {
    const Status status = file.read(i, sample);
    EXPECT_TRUE(status.ok() || status.error().message.starts_with(path)) << status.error().message;
  }
}

TEST_F(ShardsTest, EveryTruncationIsTold) {
  ASSERT_TRUE(pack(*first_samples(std::make_shared<Sensors>(), 4), {.compress = true}).ok());
  const std::string good = *read_file(shard(0));
  for (std::size_t size = 0; size < good.size(); ++size) {
    write(shard(0), good.substr(0, size));
    const auto opened = ShardFile::open(shard(0));
    ASSERT_FALSE(opened.ok()) << size;
    ASSERT_EQ(opened.code(), Code::data_loss) << size;
    ASSERT_TRUE(opened.error().message.starts_with(shard(0).string())) << opened.error().message;
  }
  write(shard(0), good + "x");
  expect_refused(Code::data_loss, "too long");
}

TEST_F(ShardsTest, EveryChangedByteIsTold) {
  ASSERT_TRUE(pack(*first_samples(std::make_shared<Sensors>(), 3), {.compress = true}).ok());
  const std::string good = *read_file(shard(0));
  Random random(5);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1 + random.below(255)));
    write(shard(0), bad);
    const auto opened = ShardFile::open(shard(0));
    if (!opened.ok()) continue;
    std::vector<float> sample(16);
    int wrong = 0;
    for (std::uint32_t i = 0; i < 3; ++i) wrong += opened->read(i, sample).ok() ? 0 : 1;
    ASSERT_EQ(wrong, 1) << "byte " << at;
  }
}

TEST_F(ShardsTest, GarbageWithRightChecksumsDoesNoHarm) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    // a frame that is none, then whatever its sample is: with a checksum that fits
    ShardBuilder builder(16, true);
    for (int i = 0; i < 4; ++i) {
      std::string kept(1 + random.below(64), '\0');
      for (char& byte : kept) byte = static_cast<char>(random.next());
      if (i % 2 == 0 && kept.size() > 8) kept.replace(0, 4, "\x28\xB5\x2F\xFD");  // as a zstd frame begins
      builder.add(kept, 0);
    }
    write(shard(0),
          builder.file({.split = "train", .samples = 4, .last = true, .sample_shape = {16}, .classes = {"a"}}));
    const auto opened = ShardFile::open(shard(0));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    read_shards(*opened, shard(0).string());
  }
}

TEST(SampleBytes, AreOneAValueOnlyWhereThatLosesNothing) {
  std::vector<float> pixels;
  for (int i = 0; i < 256; ++i) pixels.push_back(static_cast<float>(i) / 255.0f);
  EXPECT_EQ(pack_sample(pixels).size(), 256u);
  for (const float other : {-0.0f, 0.5f, 1.5f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), std::nextafter(1.0f, 0.0f)}) {
    pixels[7] = other;
    const std::string packed = pack_sample(pixels);
    ASSERT_EQ(packed.size(), 1024u) << other;
    std::vector<float> found(256);
    unpack_sample({reinterpret_cast<const std::uint8_t*>(packed.data()), packed.size()}, found);
    EXPECT_EQ(std::memcmp(found.data(), pixels.data(), 1024), 0) << other;
  }
}

}  // namespace
}  // namespace mangrove::data

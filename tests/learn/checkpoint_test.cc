#include "mangrove/learn/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/base/temporary_folder.h"

#include "mangrove/base/random.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::learn {
namespace {

using ::mangrove::testing::TemporaryFolder;

Checkpoint sample() {
  Checkpoint checkpoint;
  constexpr char job[] = "{\"model\": \"lenet\"}\n\xff is not UTF-8, \0 not the end";
  checkpoint.job.assign(job, sizeof job - 1);
  checkpoint.parameters = {0.1f, -0.0f, std::numeric_limits<float>::denorm_min(), 3.4e38f, 1};
  checkpoint.states = {0.25f, -1e-30f};
  checkpoint.slots = {{1, 2, std::numeric_limits<float>::infinity(), -1e-30f, 0}, {5, 4, 3, 2, 1}};
  checkpoint.average = {0.2f, 0, 1e-20f, -3, 1};
  checkpoint.plateau = {.factor = 0.1 * 0.1, .best = 1.0 / 7, .epochs = 9, .bad_epochs = 2};
  checkpoint.best = {.epoch = 2, .accuracy = 0.1 + 0.7, .loss = 1.0 / 9};
  checkpoint.step = 12345678901;
  checkpoint.epoch = 3;
  checkpoint.pending = {4294967295u, 0, 17};
  checkpoint.epoch_stats = {.loss = 0.1 + 0.2, .correct = 55, .count = 64};
  checkpoint.train_seconds = 1.0 / 3;
  return checkpoint;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
}

void expect_same(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.job, b.job);
  expect_same_bits(a.parameters, b.parameters);
  expect_same_bits(a.states, b.states);
  ASSERT_EQ(a.slots.size(), b.slots.size());
  for (std::size_t i = 0; i < a.slots.size(); ++i) expect_same_bits(a.slots[i], b.slots[i]);
  expect_same_bits(a.average, b.average);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.plateau.factor), std::bit_cast<std::uint64_t>(b.plateau.factor));
  EXPECT_EQ(a.plateau.best, b.plateau.best);
  EXPECT_EQ(a.plateau.epochs, b.plateau.epochs);
  EXPECT_EQ(a.plateau.bad_epochs, b.plateau.bad_epochs);
  EXPECT_EQ(a.best.epoch, b.best.epoch);
  EXPECT_EQ(a.best.accuracy, b.best.accuracy);
  EXPECT_EQ(a.best.loss, b.best.loss);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.pending, b.pending);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.epoch_stats.loss), std::bit_cast<std::uint64_t>(b.epoch_stats.loss));
  EXPECT_EQ(a.epoch_stats.correct, b.epoch_stats.correct);
  EXPECT_EQ(a.epoch_stats.count, b.epoch_stats.count);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a.train_seconds), std::bit_cast<std::uint64_t>(b.train_seconds));
}

/// CRC-32 as the format defines it, bit by bit.
class Crc {
 public:
  void cover(const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      crc_ ^= static_cast<const unsigned char*>(data)[i];
      for (int bit = 0; bit < 8; ++bit) crc_ = crc_ >> 1 ^ (crc_ & 1 ? 0xedb88320u : 0u);
    }
  }
  void cover(const std::string& text) { cover(text.c_str(), text.size() + 1); }
  std::string text() const { return std::to_string(~crc_); }

 private:
  std::uint32_t crc_ = 0xffffffffu;
};

/// A file with a right checksum and these changes, as another program might write it.
std::string changed_file(const std::function<void(TensorFile&)>& change) {
  TensorFile file = parse_safetensors(encode_checkpoint(sample())).value();
  change(file);
  file.metadata.erase("checksum");
  Crc crc;
  for (const auto& [key, value] : file.metadata) {
    crc.cover(key);
    crc.cover(value);
  }
  for (const auto& [name, tensor] : file.tensors) {
    for (const std::string& text : {name, std::string(dtype_name(tensor.dtype())), to_string(tensor.shape())})
      crc.cover(text);
    crc.cover(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  }
  file.metadata["checksum"] = crc.text();
  return encode_safetensors(file);
}

TEST(Checkpoint, RoundTripIsBitExact) {
  const auto parsed = parse_checkpoint(encode_checkpoint(sample()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  expect_same(*parsed, sample());
}

TEST(Checkpoint, EmptyOneRoundTrips) {
  Checkpoint empty;
  empty.epoch_stats.loss = std::numeric_limits<double>::infinity();
  const auto parsed = parse_checkpoint(encode_checkpoint(empty));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  expect_same(*parsed, empty);
}

TEST(Checkpoint, EveryDoubleReadsBackExactly) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    Checkpoint checkpoint;
    checkpoint.train_seconds = std::ldexp(random.normal(), static_cast<int>(random.below(600)) - 300);
    const auto parsed = parse_checkpoint(encode_checkpoint(checkpoint));
    ASSERT_TRUE(parsed.ok());
    expect_same(*parsed, checkpoint);
  }
}

TEST(Checkpoint, EveryTruncationIsDataLoss) {
  const std::string whole = encode_checkpoint(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = parse_checkpoint(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.code(), Code::data_loss) << size;
  }
}

TEST(Checkpoint, EveryFlippedBitIsDataLoss) {
  const std::string whole = encode_checkpoint(sample());
  int harmless = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto parsed = parse_checkpoint(damaged);
    if (parsed.ok()) {  // in a space that pads the header
      expect_same(*parsed, sample());
      EXPECT_EQ(whole[bit / 8], ' ') << "byte " << bit / 8 << ", bit " << bit % 8;
      ++harmless;
      continue;
    }
    EXPECT_EQ(parsed.code(), Code::data_loss) << parsed.error().message;
  }
  EXPECT_LE(harmless, 7);
}

TEST(Checkpoint, BytesAfterTheEndAreDataLoss) {
  EXPECT_EQ(parse_checkpoint(encode_checkpoint(sample()) + "x").code(), Code::data_loss);
}

struct Change {
  const char* name;
  void (*change)(TensorFile&);
  Code code;
};

TEST(Checkpoint, WellFormedFilesThatAreNoCheckpointAreErrors) {
  const Change changes[] = {
      {"newer version", [](TensorFile& f) { f.metadata["version"] = "3"; }, Code::unimplemented},
      {"version 1, without states", [](TensorFile& f) { f.metadata["version"] = "1"; }, Code::unimplemented},
      {"version 0", [](TensorFile& f) { f.metadata["version"] = "0"; }, Code::data_loss},
      {"version no number", [](TensorFile& f) { f.metadata["version"] = "1.0"; }, Code::data_loss},
      {"other format", [](TensorFile& f) { f.metadata["format"] = "pt"; }, Code::data_loss},
      {"no metadata", [](TensorFile& f) { f.metadata.clear(); }, Code::data_loss},
      {"no step", [](TensorFile& f) { f.metadata.erase("step"); }, Code::data_loss},
      {"negative step", [](TensorFile& f) { f.metadata["step"] = "-1"; }, Code::data_loss},
      {"step too large", [](TensorFile& f) { f.metadata["step"] = "99999999999999999999"; }, Code::data_loss},
      {"no slot", [](TensorFile& f) { f.tensors.erase("slot1"); }, Code::data_loss},
      {"more slots than there are", [](TensorFile& f) { f.metadata["slots"] = "18446744073709551615"; },
       Code::data_loss},
      {"slot of f64", [](TensorFile& f) { f.tensors.insert_or_assign("slot0", Tensor(DType::f64, {5})); },
       Code::data_loss},
      {"parameters of rank 2",
       [](TensorFile& f) {
         f.tensors.insert_or_assign("parameters", Tensor(DType::f32, {1, 5}));
       },
       Code::data_loss},
      {"negative sample",
       [](TensorFile& f) { f.tensors.insert_or_assign("pending", Tensor::of<std::int64_t>({1}, {-1})); },
       Code::data_loss},
      {"sample beyond 32 bits",
       [](TensorFile& f) { f.tensors.insert_or_assign("pending", Tensor::of<std::int64_t>({1}, {4294967296})); },
       Code::data_loss},
  };
  ASSERT_TRUE(parse_checkpoint(changed_file([](TensorFile&) {})).ok());
  for (const auto& [name, change, code] : changes) {
    const auto parsed = parse_checkpoint(changed_file(change));
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.code(), code) << name << ": " << parsed.error().message;
  }
}

TEST(CheckpointFile, SavedOneLoads) {
  const TemporaryFolder folder;
  ASSERT_TRUE(save_checkpoint(sample(), folder / "a.ckpt").ok());
  const auto loaded = load_checkpoint(folder / "a.ckpt");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  expect_same(*loaded, sample());
}

TEST(CheckpointFile, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const std::string whole = encode_checkpoint(sample());
  ASSERT_TRUE(write_file_atomically(folder / "torn.ckpt", std::string_view(whole).substr(0, whole.size() / 2)).ok());
  const auto torn = load_checkpoint(folder / "torn.ckpt");
  ASSERT_FALSE(torn.ok());
  EXPECT_EQ(torn.code(), Code::data_loss);
  EXPECT_NE(torn.error().message.find("torn.ckpt"), std::string::npos) << torn.error().message;

  const auto missing = load_checkpoint(folder / "missing.ckpt");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_NE(missing.error().message.find("missing.ckpt"), std::string::npos) << missing.error().message;
}

TEST(CheckpointFile, FolderThatCannotTakeItIsAnErrorAndKeepsTheOldOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(save_checkpoint(sample(), folder / "no" / "such" / "a.ckpt").code(), Code::not_found);
  ASSERT_TRUE(write_file_atomically(folder / "file", "").ok());
  EXPECT_FALSE(save_checkpoint(sample(), folder / "file" / "a.ckpt").ok());
  if (::geteuid() == 0) return;  // root may write in any folder
  ASSERT_TRUE(save_checkpoint(sample(), folder / "a.ckpt").ok());
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const Status refused = save_checkpoint({}, folder / "a.ckpt");
  fs::permissions(folder.path(), fs::perms::owner_all);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::permission_denied);
  expect_same(load_checkpoint(folder / "a.ckpt").value(), sample());
}

TEST(CheckpointFile, LeftoversOfAKilledWriterDoNotDisturb) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.ckpt";
  ASSERT_TRUE(save_checkpoint({}, path).ok());
  // The torn temporary file of a writer that was killed before the rename; its process id may well come again.
  const std::string whole = encode_checkpoint(sample());
  const fs::path left = path.string() + ".tmp." + std::to_string(::getpid());
  ASSERT_TRUE(write_file_atomically(left, std::string_view(whole).substr(0, 100)).ok());
  expect_same(load_checkpoint(path).value(), {});
  ASSERT_TRUE(save_checkpoint(sample(), path).ok());
  expect_same(load_checkpoint(path).value(), sample());
}

TEST(CheckpointFile, KilledWriterLeavesTheOldFileOrTheNew) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.ckpt";
  Checkpoint checkpoint = sample();
  checkpoint.parameters.assign(100000, 0.5f);
  ASSERT_TRUE(save_checkpoint(checkpoint, path).ok());
  Random random(17);
  for (int kill = 0; kill < 12; ++kill) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (;;) {
        checkpoint.step += 1;
        if (!save_checkpoint(checkpoint, path).ok()) ::_exit(1);
      }
    }
    ASSERT_GT(writer, 0);
    ::usleep(static_cast<useconds_t>(random.below(5000)));  // so that the kills come at different points
    ::kill(writer, SIGKILL);
    int how = 0;
    ASSERT_EQ(::waitpid(writer, &how, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(how));
    const auto loaded = load_checkpoint(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->parameters, checkpoint.parameters);
    EXPECT_GE(loaded->step, sample().step);
  }
}

}  // namespace
}  // namespace mangrove::learn

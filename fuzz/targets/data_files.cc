#include "fuzz/targets/data_files.h"

#include <algorithm>
#include <vector>

#include "fuzz/memory_file.h"

#include "mangrove/data/cifar.h"
#include "mangrove/data/csv_windows.h"
#include "mangrove/data/file_bytes.h"
#include "mangrove/data/gzip.h"
#include "mangrove/data/idx.h"
#include "mangrove/data/image.h"
#include "mangrove/data/motion_jpeg.h"
#include "mangrove/data/shard_file.h"
#include "mangrove/data/tar.h"

namespace mangrove::fuzz {
namespace {

constexpr std::uint32_t kMostRead = 8;  // samples of one file; further ones are read in the same way

void read_samples(const data::Dataset& dataset) {
  std::vector<float> sample(static_cast<std::size_t>(dataset.sample_shape().elements()));
  for (std::uint32_t i = 0; i < std::min(dataset.size(), kMostRead); ++i) static_cast<void>(dataset.read(i, sample));
}

}  // namespace

void cifar(std::string_view bytes) {
  const MemoryFolder folder("cifar-10-batches-bin/test_batch.bin", bytes);
  const auto dataset = data::open_cifar10(data::Split::test, folder.path());
  if (dataset.ok() && *dataset != nullptr) read_samples(**dataset);
}

void csv(std::string_view bytes) {
  const MemoryFile file(bytes);
  data::DatasetSpec spec{"csv", file.path().string(), {{"window", "2"}}};
  const auto dataset = data::open_csv(spec, data::Split::train, {});
  if (dataset.ok() && *dataset != nullptr) read_samples(**dataset);
}

void gzip(std::string_view bytes) {
  constexpr std::size_t kMost = 1 << 20;
  static_cast<void>(data::gunzip(data::bytes_of(bytes), kMost));
}

void idx(std::string_view bytes) {
  const MemoryFile file(bytes);
  for (const std::uint32_t rank : {1u, 3u}) {
    const auto read = data::IdxFile::open(file.path(), rank);
    if (read.ok()) static_cast<void>(read->elements());
  }
}

void image(std::string_view bytes) {
  const auto read = data::decode_image(data::bytes_of(bytes));
  if (!read.ok()) return;
  const data::Image small = data::resize_and_crop(data::to_channels(*read, 1), 8, 8);
  std::vector<float> planes(small.pixels.size());
  data::to_planar(small, planes);
}

void motion_jpeg(std::string_view bytes) {
  const auto frames = data::find_frames(data::bytes_of(bytes));
  if (frames.ok()) static_cast<void>(data::decode_image(frames->front()));
  static_cast<void>(data::first_jpeg(data::bytes_of(bytes)));
}

void shard(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto read = data::ShardFile::open(file.path());
  if (!read.ok()) return;
  static_cast<void>(read->head());
  std::vector<float> sample(static_cast<std::size_t>(read->header().sample_shape.elements()));
  for (std::uint32_t i = 0; i < std::min(read->header().samples, kMostRead); ++i)
    static_cast<void>(read->read(i, sample));
}

void tar(std::string_view bytes) {
  for (const char* name : {"a", "data_batch_1.bin", "none"}) static_cast<void>(data::find_in_tar(bytes, name));
}

}  // namespace mangrove::fuzz

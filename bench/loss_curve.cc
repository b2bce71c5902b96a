// The first steps of a training of ResNet-20 on CIFAR-10, for comparison with another framework.
//
//   bench_loss_curve DATA_FOLDER DATA OUT_FOLDER STEPS BATCH LEARNING_RATE WARMUP_STEPS
//
// Leaves in OUT_FOLDER, as raw little-endian numbers in the order of their use: weights.f32 (the initial parameters, in
// the order of Graph::parameters()), images.f32 (normalised) and labels.i32 of the steps' samples. Prints {"loss":
// [...]}.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/learn/trainer.h"
#include "mangrove/zoo/zoo.h"

namespace {

using namespace mangrove;

template <class T>
void write_raw(const fs::path& path, std::span<const T> values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
}

/// The samples that the trainer will visit, as it will see them.
Status write_samples(const std::shared_ptr<const data::Dataset>& dataset, const learn::Trainer::Options& options,
                     std::size_t samples, const fs::path& folder) {
  const auto order = data::epoch_order(dataset->size(), options.seed, 0);
  data::Loader loader(dataset, {.batch = static_cast<std::int64_t>(samples), .augmentation = options.augmentation});
  loader.request({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(samples)});
  MG_TRY(const data::Batch batch, loader.next());
  write_raw<float>(folder / "images.f32", batch.images.as<float>());
  write_raw<std::int32_t>(folder / "labels.i32", batch.labels);
  return {};
}

Status run(char** argv) {
  const fs::path folder = argv[3];
  const std::int64_t steps = std::atoll(argv[4]);
  learn::Trainer::Options options;
  options.replica.batch = std::atoll(argv[5]);
  options.learning_rate = static_cast<float>(std::atof(argv[6]));
  options.optimizer.weight_decay = 1e-4f;
  options.schedule.warmup_steps = std::atoll(argv[7]);
  MG_TRY(const auto dataset, data::open_dataset(argv[2], data::Split::train, argv[1]));
  MG_TRY(options.augmentation, data::Augmentation::create("normalise", *dataset));
  MG_TRY(const Graph graph, zoo::build_model("resnet-20", {.sample_shape = dataset->sample_shape()}));
  write_raw<float>(folder / "weights.f32", learn::flat_parameters(graph));
  MG_RETURN_IF_ERROR(write_samples(dataset, options, static_cast<std::size_t>(steps * options.replica.batch), folder));
  MG_TRY(const auto trainer, learn::Trainer::create(graph, dataset, options));
  std::printf("{\"loss\": [");
  for (std::int64_t step = 0; step < steps; ++step) {
    MG_TRY(const learn::BatchStats stats, trainer->step());
    std::printf("%s%.9g", step == 0 ? "" : ", ", stats.loss / static_cast<double>(stats.count));
  }
  std::printf("]}\n");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr,
                 "usage: bench_loss_curve DATA_FOLDER DATA OUT_FOLDER STEPS BATCH LEARNING_RATE WARMUP_STEPS\n");
    return 2;
  }
  const Status status = run(argv);
  if (!status.ok()) std::fprintf(stderr, "bench_loss_curve: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}

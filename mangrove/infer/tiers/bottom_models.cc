#include "mangrove/infer/tiers/bottom_models.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>

#include "mangrove/data/sha256.h"
#include "mangrove/graph/cut.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/privacy/trained_noise.h"

namespace mangrove::infer {
namespace {

/// Which stream of the seed a tier's noise is. Tiers with the same bottom model, scale and trained noise have one, so
/// that nobody can average the noise of an image; all others have different ones, since two scales of the same noise,
/// or two layers with it, would tell what it is.
std::uint64_t noise_stream(const std::string& model, double scale, const std::string& trained) {
  const std::string digest = data::sha256(model + std::to_string(std::bit_cast<std::uint64_t>(scale)) + trained);
  std::uint64_t stream = 0;
  std::from_chars(digest.data(), digest.data() + 2 * sizeof stream, stream, 16);
  return stream;
}

}  // namespace

bool has_private_tier(const InferJob& job) {
  return std::ranges::any_of(job.tiers(), [](const TierPart& part) { return !part.trusted(); });
}

Hello describe_data(const data::Dataset& dataset, std::int64_t samples) {
  Hello hello;
  hello.set_samples(samples);
  for (const std::string& name : dataset.class_names()) hello.add_classes(name);
  for (const std::int64_t size : dataset.sample_shape()) hello.add_sample_shape(size);
  if (const data::CoarseLabels* coarse = dataset.coarse()) {
    for (const std::string& name : coarse->names) hello.add_coarse_classes(name);
    hello.mutable_coarse_of_class()->Add(coarse->of_class.begin(), coarse->of_class.end());
  }
  return hello;
}

Result<BottomModels> BottomModels::create(const InferJob& job, const job::RoleContext& context) {
  BottomModels models(context);
  if (!has_private_tier(job)) return models;
  MG_TRY(models.dataset_, data::open_dataset(job.data(), data::Split::test, context.data_folder)
                              .context("the coordinator needs the samples, for tiers that are not trusted"));
  const std::int64_t size = models.dataset_->size();
  models.data_ = describe_data(*models.dataset_, job.limit() > 0 ? std::min(job.limit(), size) : size);
  for (int part = 0; part < job.tiers_size(); ++part) {
    models.models_.emplace_back();
    if (job.tiers(part).trusted()) continue;
    MG_TRY(models.models_.back(), models.make_model(job, part, context).context("tiers: " + job.tiers(part).name()));
  }
  return models;
}

Result<std::unique_ptr<BottomModels::Model>> BottomModels::make_model(const InferJob& job, int part,
                                                                      const job::RoleContext& context) const {
  auto model = std::make_unique<Model>();
  MG_TRY(model->privacy, privacy::parse_privacy(job.tiers(part).privacy()));
  const bool has_noise = model->privacy.noise > 0 || !model->privacy.trained.empty();
  if (has_noise && job.noise_seed() == 0)
    return make_error(Code::invalid_argument, "noise without a seed that nobody else knows");
  const std::string trained = part < job.noises_size() ? job.noises(part) : "";
  model->noise = Random(job.noise_seed()).fork(noise_stream(job.bottom_models(part), model->privacy.noise, trained));
  MG_TRY(const Graph graph, parse_onnx(job.bottom_models(part)));
  MG_TRY(model->trained, privacy::noise_of(trained, model->privacy, graph));
  MG_TRY(model->stage, CompiledStage::create(graph, 0, graph.nodes().size(), compile_options(job, context)));
  model->values = elements_at_cut(graph, graph.nodes().size(), 1);
  data::LoaderOptions loading{.batch = job.micro_batch(), .workers = context.threads};
  MG_TRY(loading.augmentation, learn::preparation_of(graph, context.data_folder));
  model->loader = std::make_unique<data::Loader>(dataset_, loading);
  std::ranges::fill(model->stage->input(job.micro_batch()), 0.0f);
  model->stage->run(job.micro_batch());  // touches all memory before times count
  return model;
}

Result<std::string> BottomModels::run(std::size_t part, std::int64_t begin, std::int64_t count) {
  Model& model = *models_[part];
  const Instant start = clock_->now();
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  model.loader->request(std::move(indices));
  MG_TRY(const data::Batch batch, model.loader->next());
  const std::span<float> input = model.stage->input(count);
  std::ranges::copy(batch.images.as<float>().first(input.size()), input.begin());
  device_->charge(model.stage->flops());
  const std::span<const float> values = model.stage->run(count);
  const auto width = static_cast<std::size_t>(model.values);
  std::string sent;
  sent.reserve(static_cast<std::size_t>(count * bytes(part)));
  for (std::int64_t row = 0; row < count; ++row)
    privacy::append_sent(sent, model.privacy, values.subspan(static_cast<std::size_t>(row) * width, width),
                         model.noise.fork(static_cast<std::uint64_t>(begin + row)), model.trained.as<float>());
  ++model.runs;
  model.seconds += clock_->now() - start;
  return sent;
}

Seconds BottomModels::seconds(std::size_t part) const {
  if (!has(part) || models_[part]->runs == 0) return 0;
  return models_[part]->seconds / static_cast<double>(models_[part]->runs);
}

Bytes BottomModels::bytes(std::size_t part) const {
  return privacy::sent_bytes(models_[part]->privacy, models_[part]->values);
}

}  // namespace mangrove::infer

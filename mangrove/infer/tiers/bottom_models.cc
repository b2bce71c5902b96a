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

/// Which stream of the seed a tier's noise is. Tiers with the same head, scale and trained noise have one, so that
/// nobody can average the noise of an image; all others have different ones, since two scales of the same noise, or two
/// layers with it, would tell what it is.
std::uint64_t noise_stream(const std::string& head, double scale, const std::string& trained) {
  const std::string digest = data::sha256(head + std::to_string(std::bit_cast<std::uint64_t>(scale)) + trained);
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
  BottomModels heads(context);
  if (!has_private_tier(job)) return heads;
  MG_TRY(heads.dataset_, data::open_dataset(job.data(), data::Split::test, context.data_folder)
                             .context("the coordinator needs the samples, for tiers that are not trusted"));
  const std::int64_t size = heads.dataset_->size();
  heads.data_ = describe_data(*heads.dataset_, job.limit() > 0 ? std::min(job.limit(), size) : size);
  for (int part = 0; part < job.tiers_size(); ++part) {
    heads.heads_.emplace_back();
    if (job.tiers(part).trusted()) continue;
    MG_TRY(heads.heads_.back(), heads.make_head(job, part, context).context("tiers: " + job.tiers(part).name()));
  }
  return heads;
}

Result<std::unique_ptr<BottomModels::Head>> BottomModels::make_head(const InferJob& job, int part,
                                                                    const job::RoleContext& context) const {
  auto head = std::make_unique<Head>();
  MG_TRY(head->privacy, privacy::parse_privacy(job.tiers(part).privacy()));
  const bool has_noise = head->privacy.noise > 0 || !head->privacy.trained.empty();
  if (has_noise && job.noise_seed() == 0)
    return make_error(Code::invalid_argument, "noise without a seed that nobody else knows");
  const std::string trained = part < job.noises_size() ? job.noises(part) : "";
  head->noise = Random(job.noise_seed()).fork(noise_stream(job.heads(part), head->privacy.noise, trained));
  MG_TRY(const Graph graph, parse_onnx(job.heads(part)));
  MG_TRY(head->trained, privacy::noise_of(trained, head->privacy, graph));
  MG_TRY(head->stage, CompiledStage::create(graph, 0, graph.nodes().size(), compile_options(job, context)));
  head->values = elements_at_cut(graph, graph.nodes().size(), 1);
  data::LoaderOptions loading{.batch = job.micro_batch(), .workers = context.threads};
  MG_TRY(loading.augmentation, learn::preparation_of(graph, context.data_folder));
  head->loader = std::make_unique<data::Loader>(dataset_, loading);
  std::ranges::fill(head->stage->input(job.micro_batch()), 0.0f);
  head->stage->run(job.micro_batch());  // touches all memory before times count
  return head;
}

Result<std::string> BottomModels::run(std::size_t part, std::int64_t begin, std::int64_t count) {
  Head& head = *heads_[part];
  const Instant start = clock_->now();
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  head.loader->request(std::move(indices));
  MG_TRY(const data::Batch batch, head.loader->next());
  const std::span<float> input = head.stage->input(count);
  std::ranges::copy(batch.images.as<float>().first(input.size()), input.begin());
  device_->charge(head.stage->flops());
  const std::span<const float> values = head.stage->run(count);
  const auto width = static_cast<std::size_t>(head.values);
  std::string sent;
  sent.reserve(static_cast<std::size_t>(count * bytes(part)));
  for (std::int64_t row = 0; row < count; ++row)
    privacy::append_sent(sent, head.privacy, values.subspan(static_cast<std::size_t>(row) * width, width),
                         head.noise.fork(static_cast<std::uint64_t>(begin + row)), head.trained.as<float>());
  ++head.runs;
  head.seconds += clock_->now() - start;
  return sent;
}

Seconds BottomModels::seconds(std::size_t part) const {
  if (!has(part) || heads_[part]->runs == 0) return 0;
  return heads_[part]->seconds / static_cast<double>(heads_[part]->runs);
}

Bytes BottomModels::bytes(std::size_t part) const {
  return privacy::sent_bytes(heads_[part]->privacy, heads_[part]->values);
}

}  // namespace mangrove::infer

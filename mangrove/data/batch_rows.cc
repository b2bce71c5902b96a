#include "mangrove/data/batch_rows.h"

#include <optional>

#include "mangrove/data/augment/augmentation.h"

namespace mangrove::data {
namespace {

Shape batch_shape(std::int64_t rows, const Shape& sample) {
  std::vector<std::int64_t> dims = {rows};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return Shape(std::move(dims));
}

/// Independent of the stream that gives the order of an epoch.
constexpr std::uint64_t kSampleStream = 0x61756767;
constexpr std::uint64_t kMixStream = 1, kPartnerStream = 2;  // of a sample

/// The samples that the rows are mixed with, and by how much: mix_labels and mix_weight are set.
std::vector<std::uint32_t> choose_partners(const Dataset& dataset, const LoaderOptions& options,
                                           std::span<const std::uint32_t> indices, std::uint64_t epoch,
                                           std::size_t first, Batch& batch) {
  std::vector<std::uint32_t> partners;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Random random = random_of_sample(options.seed, epoch, indices[i]).fork(kMixStream);
    partners.push_back(static_cast<std::uint32_t>(random.below(dataset.size())));
    batch.mix_weight[first + i] = options.augmentation->mix_weight(random);
    batch.mix_labels[first + i] = dataset.label(partners.back());
  }
  return partners;
}

/// Reads samples one after the other to `out` and transforms them. Each has the random generator of its row.
std::optional<RowProblem> read_block(const Dataset& dataset, const LoaderOptions& options,
                                     std::span<const std::uint32_t> indices, std::span<Random> randoms,
                                     std::span<float> out) {
  const std::size_t stride = out.size() / indices.size();
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (Status status = dataset.read(indices[i], out.subspan(i * stride, stride)); !status.ok())
      return RowProblem{i, status.error()};
  if (options.augmentation != nullptr) options.augmentation->apply(out, randoms, options.training);
  return std::nullopt;
}

}  // namespace

Random random_of_sample(std::uint64_t seed, std::uint64_t epoch, std::uint32_t index) {
  return Random(seed).fork(kSampleStream).fork(epoch).fork(index);
}

Result<Batch> empty_batch(const Dataset& dataset, const LoaderOptions& options,
                          std::span<const std::uint32_t> indices) {
  if (static_cast<std::int64_t>(indices.size()) > options.batch)
    return make_error(Code::invalid_argument, std::to_string(indices.size()) + " samples asked for in one batch of " +
                                                  std::to_string(options.batch));
  for (const std::uint32_t index : indices)
    if (index >= dataset.size())
      return make_error(Code::out_of_range, "sample " + std::to_string(index) + " asked for of a data set of " +
                                                std::to_string(dataset.size()));
  const auto rows = static_cast<std::size_t>(options.batch);
  Batch batch;
  batch.images = Tensor(DType::f32, batch_shape(options.batch, dataset.sample_shape()));
  batch.labels.assign(rows, kPadding);
  batch.count = static_cast<std::int64_t>(indices.size());
  if (options.training && options.augmentation != nullptr && options.augmentation->mixes()) {
    batch.mix_labels.assign(rows, kPadding);
    batch.mix_weight.assign(rows, 1.0f);
  }
  return batch;
}

std::optional<RowProblem> fill_rows(const Dataset& dataset, const LoaderOptions& options,
                                    std::span<const std::uint32_t> all_indices, std::uint64_t epoch, std::size_t first,
                                    std::size_t last, Batch& batch) {
  const auto indices = all_indices.subspan(first, last - first);
  const auto stride = static_cast<std::size_t>(dataset.sample_shape().elements());
  const std::span<float> rows = batch.images.as<float>().subspan(first * stride, indices.size() * stride);
  std::vector<Random> randoms;
  for (const std::uint32_t index : indices) randoms.push_back(random_of_sample(options.seed, epoch, index));
  std::vector<Random> partner_randoms;
  for (const Random& random : randoms) partner_randoms.push_back(random.fork(kPartnerStream));
  if (auto problem = read_block(dataset, options, indices, randoms, rows))
    return RowProblem{first + problem->row, problem->error};
  for (std::size_t i = 0; i < indices.size(); ++i) batch.labels[first + i] = dataset.label(indices[i]);
  if (batch.mix_weight.empty()) return std::nullopt;
  const auto partners = choose_partners(dataset, options, indices, epoch, first, batch);
  std::vector<float> others(rows.size());
  if (auto problem = read_block(dataset, options, partners, partner_randoms, others))
    return RowProblem{first + problem->row, problem->error};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float weight = batch.mix_weight[first + i / stride];
    rows[i] = weight * rows[i] + (1 - weight) * others[i];
  }
  return std::nullopt;
}

}  // namespace mangrove::data

#include "mangrove/privacy/leakage.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/data/loader.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/graph/cut.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/graph/split.h"
#include "mangrove/learn/image_quality.h"
#include "mangrove/learn/replica.h"
#include "mangrove/privacy/decoder.h"

namespace mangrove::privacy {
namespace {

constexpr std::int64_t kGuessImages = 2000;  // of which a guess is the mean

/// At most so many samples, from all over a data set.
std::vector<std::uint32_t> some_of(const data::Dataset& dataset, std::int64_t most) {
  const std::uint64_t size = dataset.size(), count = std::min(size, static_cast<std::uint64_t>(most));
  std::vector<std::uint32_t> samples;
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(static_cast<std::uint32_t>(i * size / count));
  return samples;
}

void add(Likeness& sum, std::span<const float> made, std::span<const float> image, const Shape& shape) {
  sum.ssim += learn::ssim(made, image, shape);
  sum.psnr += learn::psnr(made, image);
}

Likeness mean(const Likeness& sum, std::size_t images) {
  return {sum.ssim / static_cast<double>(images), sum.psnr / static_cast<double>(images)};
}

/// Of values, and what is added to them.
struct Powers {
  double signal = 0, change = 0, sum = 0;  // the first two: sums of squares; the last: of what is added
  double count = 0;

  void add(std::span<const float> values, std::span<const float> changed) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double added = static_cast<double>(changed[i]) - values[i];
      signal += static_cast<double>(values[i]) * values[i];
      change += added * added;
      sum += added;
    }
    count += static_cast<double>(values.size());
  }
  double snr() const {
    const double noise = change - sum * sum / count;
    return noise > 0 ? signal / noise : std::numeric_limits<double>::infinity();
  }
};

/// Batches of a data set, as they are and as the network takes them.
class Pairs {
 public:
  Pairs(const std::shared_ptr<const data::Dataset>& dataset, const LeakageData& data, const LeakageOptions& options)
      : images_(dataset, {.batch = options.batch}),
        prepared_(dataset, {.batch = options.batch, .augmentation = data.preparation}) {}

  void request(std::span<const std::uint32_t> samples) {
    images_.request({samples.begin(), samples.end()});
    prepared_.request({samples.begin(), samples.end()});
  }
  struct Pair {
    data::Batch images, prepared;
  };
  Result<Pair> next() {
    Pair pair;
    MG_TRY(pair.images, images_.next());
    MG_TRY(pair.prepared, prepared_.next());
    return pair;
  }

 private:
  data::Loader images_, prepared_;
};

/// One privacy setting under test.
class Attack {
 public:
  Attack(const PrivacySetting& privacy, std::span<const float> trained, const LeakageData& data,
         const LeakageOptions& options, const Clock& clock, std::stop_token stop)
      : privacy_(privacy),
        trained_(trained),
        data_(data),
        options_(options),
        clock_(clock),
        stop_(std::move(stop)),
        noise_(options.seed) {}

  Status prepare(const Graph& graph);
  Status train(const std::function<void(std::int64_t steps)>& progress);
  Result<Leakage> reconstruct();

 private:
  std::span<const float> received(const data::Batch& batch);
  Status check_stop() const { return stop_.stop_requested() ? make_error(Code::cancelled, "stopped") : Status(); }

  const PrivacySetting& privacy_;
  const std::span<const float> trained_;
  const LeakageData& data_;
  const LeakageOptions& options_;
  const Clock& clock_;
  const std::stop_token stop_;
  const Random noise_;
  std::uint64_t draws_ = 0;  // of noise
  std::unique_ptr<CompiledStage> bottom_;
  std::unique_ptr<learn::Replica> top_;
  std::unique_ptr<Decoder> decoder_;
  std::size_t width_ = 0;  // values of an image
  std::vector<float> received_;
  Seconds bottom_seconds_ = 0;
  Powers powers_;
  Leakage leakage_;
};

Status Attack::prepare(const Graph& graph) {
  MG_TRY(const GraphHalves halves, split_for_privacy(graph, privacy_.layer));
  MG_RETURN_IF_ERROR(learn::check_single_exit(halves.back));
  const CompiledStageOptions stage{
      .micro_batch = options_.batch, .backend = options_.backend, .threads = options_.threads, .fuse = true};
  MG_TRY(bottom_, CompiledStage::create(halves.front, 0, halves.front.nodes().size(), stage));
  MG_TRY(top_, learn::Replica::create(halves.back, {.batch = options_.batch,
                                                    .mode = Mode::inference,
                                                    .backend = options_.backend,
                                                    .threads = options_.threads}));
  const std::vector<std::int64_t> crossing = halves.back.inputs()[0].second.shape.dims();
  const Shape values({crossing.begin() + 1, crossing.end()});
  MG_TRY(decoder_, Decoder::create(values, data_.training->sample_shape(),
                                   {.batch = options_.batch,
                                    .steps = options_.steps,
                                    .backend = options_.backend,
                                    .threads = options_.threads,
                                    .seed = options_.seed}));
  width_ = static_cast<std::size_t>(values.elements());
  leakage_.bytes = sent_bytes(privacy_, values.elements());
  leakage_.multiply_adds = multiply_adds(halves.front, 1);
  return {};
}

/// What a device that is not trusted has of a batch.
std::span<const float> Attack::received(const data::Batch& batch) {
  const std::span<float> input = bottom_->input(batch.count);
  std::ranges::copy(batch.images.as<float>().first(input.size()), input.begin());
  const Instant start = clock_.now();
  const std::span<const float> values = bottom_->run(batch.count);
  bottom_seconds_ += clock_.now() - start;
  received_.resize(values.size());
  for (std::size_t first = 0; first < values.size(); first += width_) {
    std::string sent;
    append_sent(sent, privacy_, values.subspan(first, width_), noise_.fork(draws_++), trained_);
    const Status read = read_sent(sent, privacy_, std::span(received_).subspan(first, width_));
    MG_CHECK_MSG(read.ok(), read.error().message);
  }
  powers_.add(values, received_);
  return received_;
}

Status Attack::train(const std::function<void(std::int64_t steps)>& progress) {
  Pairs pairs(data_.training, data_, options_);
  const auto batch = static_cast<std::size_t>(std::min<std::int64_t>(options_.batch, data_.training->size()));
  std::vector<std::uint32_t> order;
  std::int64_t requested = 0;
  const auto request = [&] {
    if (order.size() < batch)
      order = data::epoch_order(data_.training->size(), options_.seed, static_cast<std::uint64_t>(requested));
    pairs.request(std::span(order).last(batch));
    order.resize(order.size() - batch);
    ++requested;
  };
  request();
  for (std::int64_t step = 0; step < options_.steps; ++step) {
    MG_RETURN_IF_ERROR(check_stop());
    MG_TRY(const Pairs::Pair pair, pairs.next());
    if (requested < options_.steps) request();
    const auto pixels = batch * static_cast<std::size_t>(data_.training->sample_shape().elements());
    decoder_->train(pair.images.count, received(pair.prepared), pair.images.images.as<float>().first(pixels));
    if (progress) progress(step + 1);
  }
  return {};
}

Result<Leakage> Attack::reconstruct() {
  const std::vector<std::uint32_t> samples = some_of(*data_.held_out, options_.images);
  const std::size_t images = samples.size();
  Pairs pairs(data_.held_out, data_, options_);
  const auto batch = static_cast<std::size_t>(options_.batch);
  for (std::size_t first = 0; first < images; first += batch)
    pairs.request(std::span(samples).subspan(first, std::min(batch, images - first)));
  const Shape shape = data_.held_out->sample_shape();
  const auto pixels = static_cast<std::size_t>(shape.elements());
  data::Batch values{.images = Tensor(DType::f32, top_->graph().inputs()[0].second.shape.with_batch(options_.batch)),
                     .labels = {}};
  Likeness sum;
  std::int64_t correct = 0;
  bottom_seconds_ = 0;
  powers_ = {};
  for (std::size_t first = 0; first < images; first += batch) {
    MG_RETURN_IF_ERROR(check_stop());
    MG_TRY(const Pairs::Pair pair, pairs.next());
    const std::span<const float> sent = received(pair.prepared);
    std::ranges::copy(sent, values.images.as<float>().begin());
    values.count = pair.images.count;
    const std::vector<std::int32_t> classes = top_->predict(values);
    for (std::size_t row = 0; row < classes.size(); ++row) correct += classes[row] == pair.images.labels[row] ? 1 : 0;
    const std::span<const float> made = decoder_->reconstruct(pair.images.count, sent);
    for (std::size_t row = 0; row < static_cast<std::size_t>(pair.images.count); ++row) {
      const auto one = made.subspan(row * pixels, pixels);
      add(sum, one, pair.images.images.as<float>().subspan(row * pixels, pixels), shape);
      if (std::ssize(leakage_.examples) < options_.examples) leakage_.examples.emplace_back(one.begin(), one.end());
    }
  }
  leakage_.likeness = mean(sum, images);
  leakage_.accuracy = static_cast<double>(correct) / static_cast<double>(images);
  leakage_.snr = powers_.snr();
  leakage_.seconds = bottom_seconds_ / static_cast<double>(images);
  return leakage_;
}

}  // namespace

std::vector<std::string> split_nodes(const Graph& graph, std::size_t most) {
  std::vector<std::string> found;
  for (std::size_t position = 1; position < graph.nodes().size() && found.size() < most; ++position) {
    const Node& node = graph.nodes()[position - 1];
    const std::vector<std::string> crossing = values_at_cut(graph, position);
    if (crossing.size() != 1 || crossing[0] != node.outputs[0]) continue;
    const ValueInfo& value = graph.value(crossing[0]);
    if (value.dtype == DType::f32 && value.shape.batch_axis() == 0u && split_for_privacy(graph, node.name).ok())
      found.push_back(node.name);
  }
  return found;
}

Result<std::vector<std::vector<float>>> held_out_examples(const LeakageData& data, const LeakageOptions& options) {
  std::vector<std::vector<float>> images;
  for (const std::uint32_t sample : some_of(*data.held_out, options.images)) {
    if (std::ssize(images) == options.examples) break;
    images.emplace_back(static_cast<std::size_t>(data.held_out->sample_shape().elements()));
    MG_RETURN_IF_ERROR(data.held_out->read(sample, images.back()));
  }
  return images;
}

Result<Leakage> measure_leakage(const Graph& graph, const PrivacySetting& privacy, const LeakageData& data,
                                const LeakageOptions& options, const Clock& clock, std::stop_token stop,
                                std::span<const float> trained,
                                const std::function<void(std::int64_t steps)>& progress) {
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *data.held_out));
  if (data.training->size() == 0 || data.held_out->size() == 0)
    return make_error(Code::invalid_argument, "training and held-out images are needed, and a split is empty");
  Attack attack(privacy, trained, data, options, clock, std::move(stop));
  MG_RETURN_IF_ERROR(attack.prepare(graph));
  MG_RETURN_IF_ERROR(attack.train(progress));
  return attack.reconstruct();
}

Result<Likeness> likeness_of_guess(const LeakageData& data, const LeakageOptions& options) {
  const Shape shape = data.training->sample_shape();
  std::vector<float> image(static_cast<std::size_t>(shape.elements())), guess(image.size());
  const std::vector<std::uint32_t> seen = some_of(*data.training, kGuessImages);
  for (const std::uint32_t sample : seen) {
    MG_RETURN_IF_ERROR(data.training->read(sample, image));
    for (std::size_t k = 0; k < image.size(); ++k) guess[k] += image[k] / static_cast<float>(seen.size());
  }
  Likeness sum;
  const std::vector<std::uint32_t> samples = some_of(*data.held_out, options.images);
  for (const std::uint32_t sample : samples) {
    MG_RETURN_IF_ERROR(data.held_out->read(sample, image));
    add(sum, guess, image, shape);
  }
  return mean(sum, samples.size());
}

}  // namespace mangrove::privacy

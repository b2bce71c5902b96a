#include "mangrove/infer/tiers/network.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/cut.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/privacy/split.h"

namespace mangrove::infer {
namespace {

/// Without classes and confidences.
TierAnswer answer_to(const Command& task, const data::Batch& samples) {
  TierAnswer said;
  said.set_request(task.request());
  said.set_micro_batch(task.micro_batch());
  said.set_answer(task.answer());
  if (!samples.labels.empty())
    said.mutable_truths()->Add(samples.labels.begin(),
                               samples.labels.begin() + static_cast<std::ptrdiff_t>(task.count()));
  return said;
}

float confidence(std::span<const float> logits) {
  return static_cast<float>(std::ranges::max(learn::probabilities(logits)));
}

/// A network of its own, or what is above the bottom model of one.
class WholeNetwork final : public TierNetwork {
 public:
  WholeNetwork(std::unique_ptr<learn::Replica> replica, bool has_bottom, privacy::PrivacySetting privacy)
      : replica_(std::move(replica)), has_bottom_(has_bottom), privacy_(std::move(privacy)) {
    replica_->execution().forward();  // touches all memory before times count
  }

  Bytes value_bytes() const override { return has_bottom_ ? privacy::sent_bytes(privacy_, width()) : 0; }

  Result<TierAnswer> answer(const Command& task, const data::Batch& samples) override {
    TierAnswer said = answer_to(task, samples);
    if (has_bottom_) {
      MG_RETURN_IF_ERROR(take_values(task));
      replica_->execution().forward();
    } else {
      replica_->predict(samples);
    }
    const std::span<const float> outputs = replica_->execution().output<float>(replica_->graph().outputs().front());
    const std::vector<std::int32_t> classes = learn::argmax_rows(outputs, replica_->classes());
    const auto each = static_cast<std::size_t>(replica_->classes());
    for (std::size_t i = 0; i < static_cast<std::size_t>(task.count()); ++i) {
      said.add_classes(classes[i]);
      said.add_confidences(confidence(outputs.subspan(i * each, each)));
    }
    return said;
  }

  double flops() const override { return replica_->flops(replica_->batch()); }

 private:
  /// Elements that the network takes of one sample.
  std::int64_t width() const { return elements_of(replica_->graph().inputs()[0].second, 1); }

  /// To where the network has its input: they are many, and would take longer to copy than some layers.
  Status take_values(const Command& task) {
    const auto each = static_cast<std::size_t>(width());
    const auto bytes = static_cast<std::size_t>(value_bytes());
    const std::span<float> input = replica_->execution().input<float>(replica_->graph().inputs()[0].first);
    for (std::size_t row = 0; row < static_cast<std::size_t>(task.count()); ++row)
      MG_RETURN_IF_ERROR(privacy::read_sent(std::string_view(task.values()).substr(row * bytes, bytes), privacy_,
                                            input.subspan(row * each, each)));
    // of an operator that looks at the whole batch nothing may depend on the task before
    std::ranges::fill(input.subspan(static_cast<std::size_t>(task.count()) * each), 0.0f);
    return {};
  }

  std::unique_ptr<learn::Replica> replica_;
  const bool has_bottom_;
  const privacy::PrivacySetting privacy_;
};

/// The segments of a network with early exits that are for answers of one level.
class ExitNetwork final : public TierNetwork {
 public:
  ExitNetwork(std::unique_ptr<exits::EarlyExit> network, std::vector<float> thresholds, bool takes_values)
      : network_(std::move(network)), thresholds_(std::move(thresholds)), takes_values_(takes_values) {}

  Bytes value_bytes() const override {
    return takes_values_ ? network_->input_elements(1) * static_cast<Bytes>(sizeof(float)) : 0;
  }

  Result<TierAnswer> answer(const Command& task, const data::Batch& samples) override {
    network_->set_thresholds(takes_values_ && task.request() > 0 ? nobody_leaves() : thresholds_);
    MG_TRY(const auto answers, classify(task, samples));
    TierAnswer said = answer_to(task, samples);
    const auto each = static_cast<std::size_t>(network_->classes());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      said.add_classes(answers[i].predicted);
      said.add_confidences(confidence(network_->logits().subspan(i * each, each)));
      said.add_exits(static_cast<std::uint32_t>(answers[i].exit));
    }
    net::append_floats(*said.mutable_values(), network_->passed());
    return said;
  }

  double flops() const override { return network_->flops(); }

 private:
  /// Values that are made up to measure times would all leave at the same exit, or none; all staying costs the most.
  std::vector<float> nobody_leaves() const {
    constexpr float kBelowAnyEntropy = -1;
    return std::vector<float>(thresholds_.size(), kBelowAnyEntropy);
  }

  Result<std::span<const exits::EarlyExit::Answer>> classify(const Command& task, const data::Batch& samples) {
    const auto elements = static_cast<std::size_t>(network_->input_elements(task.count()));
    if (!takes_values_) return network_->classify(task.count(), samples.images.as<float>().first(elements));
    values_.resize(elements);
    MG_RETURN_IF_ERROR(net::read_floats(task.values(), values_));
    return network_->classify(task.count(), values_);
  }

  std::unique_ptr<exits::EarlyExit> network_;
  const std::vector<float> thresholds_;
  const bool takes_values_;
  std::vector<float> values_;
};

}  // namespace

Result<std::unique_ptr<TierNetwork>> make_tier_network(const Graph& graph, const InferJob& job, std::size_t part,
                                                       Answer answer, const CompiledStageOptions& options) {
  const bool takes_values = !sees_samples(job, part, answer);
  if (has_tier_exits(job)) {
    const std::vector<float> thresholds(job.exit_thresholds().begin(), job.exit_thresholds().end());
    MG_TRY(auto network, exits::EarlyExit::create(graph, thresholds, options, exit_range(job, answer)));
    return std::make_unique<ExitNetwork>(std::move(network), thresholds, takes_values);
  }
  privacy::PrivacySetting privacy;
  if (takes_values) {
    MG_TRY(privacy, privacy::parse_privacy(job.tiers(static_cast<int>(part)).privacy()));
  }
  MG_TRY(auto replica, learn::Replica::create(graph, whole_network(options)));
  return std::make_unique<WholeNetwork>(std::move(replica), takes_values, std::move(privacy));
}

}  // namespace mangrove::infer

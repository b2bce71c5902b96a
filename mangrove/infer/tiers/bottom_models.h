#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/job/role.h"
#include "mangrove/privacy/split.h"

namespace mangrove::infer {

/// Whether devices of a tier are not trusted: these never get a sample.
bool has_private_tier(const InferJob& job);

/// What a data set is like, as a node says it that has it.
Hello describe_data(const data::Dataset& dataset, std::int64_t samples);

/// The first layers of the networks of tiers that are not trusted. Rank 0 computes them, on samples that it reads
/// itself, and sends what comes out: so neither samples nor labels nor these layers' weights get to such devices.
/// source: the split is that of Osia et al., A hybrid deep learning architecture for privacy-preserving mobile
/// analytics, IEEE Internet of Things Journal 2020.
/// threads: one at a time.
class BottomModels {
 public:
  /// Opens the job's data and compiles the bottom models; nothing of both where all tiers are trusted.
  /// errors: those of opening the data, of CompiledStage::create and preparation_of; invalid_argument (a bottom model
  /// and the rest of its network do not fit together, noise that cannot be drawn).
  static Result<BottomModels> create(const InferJob& job, const job::RoleContext& context);

  /// Whether devices of that tier of the job get values.
  bool has(std::size_t part) const { return part < models_.size() && models_[part] != nullptr; }
  /// What the samples are like; nothing where all tiers are trusted.
  const std::optional<Hello>& data() const { return data_; }

  /// Computes what takes the place of these samples in a TASK command: sent_bytes() for each. A sample gets the same
  /// noise each time, and on all tiers with the same bottom model, scale and trained noise. REQUIRES has(part). errors:
  /// those of Loader::next.
  Result<std::string> run(std::size_t part, std::int64_t begin, std::int64_t count);
  std::int32_t label(std::int64_t sample) const { return dataset_->label(static_cast<std::uint32_t>(sample)); }

  /// Of one run, on average; 0 before the first one, and of tiers that are trusted.
  Seconds seconds(std::size_t part) const;
  /// For one sample. REQUIRES has(part).
  Bytes bytes(std::size_t part) const;

 private:
  struct Model {
    privacy::PrivacySetting privacy;
    std::unique_ptr<CompiledStage> stage;
    std::unique_ptr<data::Loader> loader;
    std::int64_t values = 0;  // of one sample in what the bottom model gives
    Random noise{0};
    Tensor trained;  // noise, [tensors, values]; empty: none
    std::int64_t runs = 0;
    Seconds seconds = 0;
  };
  explicit BottomModels(const job::RoleContext& context) : clock_(&context.clock), device_(&context.device) {}
  Result<std::unique_ptr<Model>> make_model(const InferJob& job, int part, const job::RoleContext& context) const;

  Clock* clock_;
  job::Device* device_;
  std::shared_ptr<const data::Dataset> dataset_;
  std::optional<Hello> data_;
  std::vector<std::unique_ptr<Model>> models_;  // by tier of the job; null: it is trusted
};

}  // namespace mangrove::infer

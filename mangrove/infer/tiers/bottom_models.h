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

/// Whether the devices of any tier are not trusted. Untrusted devices never get a sample.
bool has_private_tier(const InferJob& job);

/// A description of a data set, as a node with the data set sends it.
Hello describe_data(const data::Dataset& dataset, std::int64_t samples);

/// The first layers of the networks of untrusted tiers. Rank 0 reads the samples itself, computes these layers, and
/// sends their outputs. So neither samples nor labels nor the weights of these layers reach such devices.
///
/// cost     sent_bytes() for each sample go to the device, in place of the sample. Rank 0 computes the layers for every
///          task.
/// source   Osia et al., A hybrid deep learning architecture for privacy-preserving mobile analytics, IEEE Internet of
///          Things Journal 2020 (the split).
/// threads  one at a time.
class BottomModels {
 public:
  /// Opens the job's data and compiles the bottom models. Does neither if all tiers are trusted. errors: those of
  /// opening the data, of CompiledStage::create and preparation_of; invalid_argument (a bottom model does not fit the
  /// rest of its network, or its noise cannot be drawn).
  static Result<BottomModels> create(const InferJob& job, const job::RoleContext& context);

  /// Whether devices of a tier get values. part: the tier's position in the job.
  bool has(std::size_t part) const { return part < models_.size() && models_[part] != nullptr; }
  /// A description of the data. Nothing: all tiers are trusted.
  const std::optional<Hello>& data() const { return data_; }

  /// Computes the values that replace these samples in a TASK command: sent_bytes() for each. A sample gets the same
  /// noise each time, and on all tiers with the same bottom model, scale and trained noise. REQUIRES has(part). errors:
  /// those of Loader::next.
  Result<std::string> run(std::size_t part, std::int64_t begin, std::int64_t count);
  std::int32_t label(std::int64_t sample) const { return dataset_->label(static_cast<std::uint32_t>(sample)); }

  /// The mean time of one run. 0 before the first run, and for trusted tiers.
  Seconds seconds(std::size_t part) const;
  /// Bytes for one sample. REQUIRES has(part).
  Bytes bytes(std::size_t part) const;

 private:
  struct Model {
    privacy::PrivacySetting privacy;
    std::unique_ptr<CompiledStage> stage;
    std::unique_ptr<data::Loader> loader;
    std::int64_t values = 0;  // outputs of the bottom model for one sample
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
  std::vector<std::unique_ptr<Model>> models_;  // by the tier's position in the job; null: the tier is trusted
};

}  // namespace mangrove::infer

#include "mangrove/infer/views/network.h"

#include <algorithm>
#include <map>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/graph/cut.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {
namespace {

/// One for each exit but the last; below all entropies where the job has none.
std::vector<float> thresholds_of(const InferJob& job, std::size_t exits) {
  constexpr float kNobodyLeaves = -1;
  if (job.exit_thresholds().empty()) return std::vector<float>(exits - 1, kNobodyLeaves);
  return {job.exit_thresholds().begin(), job.exit_thresholds().end()};
}

Status check_thresholds(const InferJob& job, const Graph& network) {
  const int wanted = static_cast<int>(network.outputs().size()) - 1;
  const bool in_range = std::ranges::all_of(job.exit_thresholds(), [](float x) { return x >= 0 && x <= 1; });
  if (job.exit_thresholds().empty() || (job.exit_thresholds_size() == wanted && in_range)) return {};
  return make_error(Code::invalid_argument, "exit_thresholds: expected " + format_things(wanted, "number") +
                                                " from 0 to 1, one for each early exit of network '" + network.name() +
                                                "', or none");
}

}  // namespace

ViewFormat::ViewFormat(const Graph& part, std::span<const std::string> values) {
  for (const std::string& name : values) widths_.push_back(elements_of(part.value(name), 1));
}

std::int64_t ViewFormat::elements(std::int64_t samples) const {
  std::int64_t elements = 0;
  for (const std::int64_t width : widths_) elements += samples * width;
  return elements;
}

void ViewFormat::append_rows(std::span<const float> values, std::int64_t count, std::span<const std::uint32_t> rows,
                             std::vector<float>& to) const {
  for (const std::int64_t width : widths_) {
    for (const std::uint32_t row : rows) {
      const auto from = values.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
      to.insert(to.end(), from.begin(), from.end());
    }
    values = values.subspan(static_cast<std::size_t>(count * width));
  }
}

Result<std::unique_ptr<ViewDevice>> ViewDevice::create(const ViewSplit::Device& part,
                                                       const CompiledStageOptions& options) {
  const std::size_t operators = part.graph.nodes().size();
  MG_TRY(auto stage, CompiledStage::create(part.graph, 0, operators, options));
  std::unique_ptr<ViewDevice> device(new ViewDevice(std::move(stage)));
  std::map<std::string, Place> places;
  std::int64_t first = 0;
  for (const std::string& name : values_at_cut(part.graph, operators)) {
    const std::int64_t width = elements_of(part.graph.value(name), 1);
    places[name] = {first, width};
    first += width;
  }
  for (const std::string& name : part.scores) device->scores_.push_back(places.at(name));
  for (const std::string& name : part.features) device->features_.push_back(places.at(name));
  return device;
}

ViewDevice::Values ViewDevice::run(std::int64_t count, std::span<const float> images) {
  std::ranges::copy(images, stage_->input(count).begin());
  const std::span<const float> made = stage_->run(count);
  const auto gather = [&](const std::vector<Place>& places) {
    std::vector<float> values;
    for (const Place& place : places) {
      const auto rows =
          made.subspan(static_cast<std::size_t>(place.first * count), static_cast<std::size_t>(place.width * count));
      values.insert(values.end(), rows.begin(), rows.end());
    }
    return values;
  };
  return {gather(scores_), gather(features_)};
}

ViewFusion::ViewFusion(ViewSplit split, std::vector<float> thresholds, CompiledStageOptions options)
    : split_(std::move(split)),
      thresholds_(std::move(thresholds)),
      options_(std::move(options)),
      lost_(split_.devices.size()) {
  for (const ViewSplit::Device& device : split_.devices) {
    scores_.emplace_back(device.graph, device.scores);
    features_.emplace_back(device.graph, device.features);
  }
}

Result<std::unique_ptr<ViewFusion>> ViewFusion::create(const Graph& network, const InferJob& job,
                                                       const CompiledStageOptions& options) {
  MG_RETURN_IF_ERROR(learn::check_classifier(network));
  MG_TRY(ViewSplit split, split_views(network));
  MG_RETURN_IF_ERROR(check_thresholds(job, network));
  std::unique_ptr<ViewFusion> fusion(
      new ViewFusion(std::move(split), thresholds_of(job, network.outputs().size()), options));
  MG_TRY(fusion->first_exit_,
         exits::EarlyExit::create_part(fusion->split_.fusion, fusion->thresholds_, fusion->options_, 0));
  MG_TRY(fusion->rest_, make_upper_part(fusion->split_, job, options));  // compiled when it is first needed
  return fusion;
}

Result<const ViewDevice::Values*> ViewFusion::lost(std::size_t view) {
  std::optional<ViewDevice::Values>& values = lost_[view];
  if (!values) {
    CompiledStageOptions one = options_;
    one.micro_batch = 1;
    MG_TRY(const auto device, ViewDevice::create(split_.devices[view], one));
    values = device->run(1, std::vector<float>(static_cast<std::size_t>(device->image_elements(1))));
  }
  return &*values;
}

bool ViewFusion::leaves(const exits::EarlyExit::Answer& at_first_exit) const {
  return at_first_exit.entropy <= thresholds_.front();  // not where it is no number
}

Result<std::unique_ptr<exits::EarlyExit>> make_upper_part(const ViewSplit& split, const InferJob& job,
                                                          const CompiledStageOptions& options) {
  return exits::EarlyExit::create_part(split.upper, thresholds_of(job, 1 + split.upper.outputs().size()), options, 1);
}

}  // namespace mangrove::infer

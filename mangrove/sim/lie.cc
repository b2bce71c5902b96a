#include "mangrove/sim/lie.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "mangrove/base/check.h"
#include "mangrove/base/table.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/replica_pool.h"
#include "mangrove/train/tags.h"

namespace mangrove::sim {
namespace {

void negate(std::span<float> floats, double, std::span<const float>, Random&) {
  for (float& value : floats) value = -value;
}

void scale(std::span<float> floats, double times, std::span<const float>, Random&) {
  for (float& value : floats) value *= static_cast<float>(times);
}

void repeat(std::span<float> floats, double, std::span<const float> first, Random&) {
  std::copy(first.begin(), first.end(), floats.begin());
}

void draw(std::span<float> floats, double times, std::span<const float>, Random& random) {
  double squares = 0;
  for (const float value : floats) squares += double{value} * value;
  const double deviation = times * std::sqrt(squares / static_cast<double>(floats.size()));
  for (float& value : floats) value = static_cast<float>(deviation * random.normal());
}

CallParameter times(double fallback) {
  return {.name = "times", .fallback = fallback, .least = -1e30, .most = 1e30};
}

const std::vector<LieRow>& table() {
  static const std::vector<LieRow> kRows = {
      {.name = "sign_flip", .summary = "the update with all signs changed", .parameters = {}, .forge = &negate},
      {.name = "scale", .summary = "so many times the update", .parameters = {times(10)}, .forge = &scale},
      {.name = "stale", .summary = "its first update, again and again", .parameters = {}, .forge = &repeat},
      {.name = "random", .summary = "normal numbers, so many times as long", .parameters = {times(10)}, .forge = &draw},
      {.name = "label_flip", .summary = "honest updates from wrong labels", .parameters = {}, .is_in_data = true},
      {.name = "wrong_answers",
       .summary = "in inference: other classes and values, in such a share of its messages",
       .parameters = {{.name = "share", .fallback = 0.5, .least = 0, .most = 1}},
       .is_in_answers = true}};
  return kRows;
}

Result<std::vector<double>> arguments_of(const LieRow& row, std::string_view text) {
  return numbers_of(parse_call(text), row.parameters, "'" + std::string(row.name) + "'");
}

double argument_of_lie(const LieRow& row, std::string_view text) {
  const std::vector<double> arguments = arguments_of(row, text).value();
  return arguments.empty() ? 0 : arguments.front();
}

/// Calls forge(floats) with the floats of a payload, and writes back what it makes of them.
void change_floats(net::Message& message, auto&& forge) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  MG_CHECK(parts.ok());  // a role of this process made it
  if (parts->body.empty()) return;
  std::vector<float> floats(parts->body.size() / sizeof(float));
  MG_CHECK(net::read_floats(parts->body, floats).ok());
  forge(std::span(floats));
  std::string forged = net::begin_payload(parts->header, parts->body.size());
  net::append_floats(forged, floats);
  message.payload = std::move(forged);
}

/// Other classes, which the network has too.
void change_classes(google::protobuf::RepeatedField<std::int32_t>& classes) {
  for (std::int32_t& c : classes) c = c > 0 ? c - 1 : 1;
}

/// The same samples with their classes in reverse order: the last one in place of the first, and so on.
class FlippedLabels final : public data::Dataset {
 public:
  explicit FlippedLabels(std::shared_ptr<const data::Dataset> samples) : samples_(std::move(samples)) {}
  std::uint32_t size() const override { return samples_->size(); }
  Shape sample_shape() const override { return samples_->sample_shape(); }
  const std::vector<std::string>& class_names() const override { return samples_->class_names(); }
  std::vector<std::uint32_t> run_ends() const override { return samples_->run_ends(); }
  std::int32_t label(std::uint32_t index) const override {
    return static_cast<std::int32_t>(samples_->class_names().size()) - 1 - samples_->label(index);
  }
  Status read(std::uint32_t index, std::span<float> out) const override { return samples_->read(index, out); }

 private:
  const std::shared_ptr<const data::Dataset> samples_;
};

Result<std::shared_ptr<train::ReplicaPool>> pool_with_flipped_labels(const train::TrainJob& job,
                                                                     const job::RoleContext& context) {
  MG_TRY(const train::Hyperparameters recipe, train::hyperparameters_of(job));
  MG_TRY(const Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(train::Sources::Splits splits, train::Sources::open(job, context.data_folder));
  splits.train = std::make_shared<const FlippedLabels>(std::move(splits.train));
  MG_TRY(auto data, train::Sources::create(job, std::move(splits), context));
  return train::ReplicaPool::create(job, recipe, graph, context, std::move(data));
}

}  // namespace

std::span<const LieRow> lies() {
  return table();
}

Result<const LieRow*> find_lie(std::string_view text) {
  MG_TRY(const LieRow* row, find_row(table(), parse_call(text).name, "there is no lie"));
  MG_RETURN_IF_ERROR(arguments_of(*row, text));
  return row;
}

Liar::Liar(std::string_view text, std::uint64_t seed)
    : row_(*find_lie(text).value()), argument_(argument_of_lie(row_, text)), random_(seed) {}

void Liar::forge(net::Message& message) {
  if (row_.is_in_answers) return forge_answers(message);
  const bool has_update = message.tag == train::kAnswerTag || message.tag == train::kValuesTag;
  if (row_.forge == nullptr || !has_update) return;
  change_floats(message, [&](std::span<float> floats) {
    const auto first = first_.try_emplace({message.tag, floats.size()}, floats.begin(), floats.end()).first;
    row_.forge(floats, argument_, first->second, random_);
  });
}

void Liar::forge_answers(net::Message& message) {
  const bool is_activation = message.tag == infer::kActivationTag;
  infer::FromNode said;
  if (!is_activation && (message.tag != infer::kFromNodeTag || !said.ParseFromString(message.payload))) return;
  if (!is_activation && !said.has_predictions() && !said.has_single()) return;
  if (random_.uniform() >= argument_) return;
  if (is_activation) return change_floats(message, [&](std::span<float> floats) { negate(floats, 0, {}, random_); });
  change_classes(said.has_single() ? *said.mutable_single()->mutable_predictions()
                                   : *said.mutable_predictions()->mutable_classes());
  message.payload = said.SerializeAsString();
}

cluster::RoleMain with_flipped_labels(cluster::RoleMain play) {
  return [play = std::move(play)](const cluster::JobSpec& job, job::RoleContext& context) -> Status {
    std::shared_ptr<job::SharedState>& shared = *context.device.shared();
    if (shared == nullptr) {
      MG_TRY(shared, pool_with_flipped_labels(job.train(), context));
    }
    return play(job, context);
  };
}

}  // namespace mangrove::sim

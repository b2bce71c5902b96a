#include "mangrove/infer/views/worker.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/tiers/bottom_models.h"
#include "mangrove/infer/views/network.h"
#include "mangrove/infer/worker_role.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

class ViewNode final : public WorkerRole {
 public:
  ViewNode(const InferJob& job, job::RoleContext& context) : WorkerRole(job, context) {}

 private:
  /// The features of a micro-batch, for whose samples that stay they may be asked.
  struct Held {
    std::int64_t count;
    std::vector<float> features;
  };

  Status prepare() override;
  Status prepare_device(const Graph& network, const ViewSplit::Device& part);
  void describe(Hello& hello) const override;
  Status handle(Command command) override;
  void add_view(const Command& command);
  void say_features(const Command& command) const;
  Instant due() const override { return tasks_.empty() ? Instant::never() : Instant(); }
  Status work() override;
  Status see(const Command& command);
  Status classify(const Command& command);

  // of a device with a view
  std::unique_ptr<ViewDevice> device_;
  std::optional<ViewFormat> format_;  // of its features
  std::shared_ptr<const data::Dataset> dataset_;
  std::int64_t samples_ = 0;
  std::optional<data::Loader> loader_;  // requests are in the order of the VIEW commands
  std::map<std::uint64_t, Held> held_;
  // of the others
  std::unique_ptr<exits::EarlyExit> upper_;

  std::deque<Command> tasks_;
};

/// Rank 1 has the first view, and so on; those beyond the views have the rest of the network.
Status ViewNode::prepare() {
  MG_TRY(const std::string file, fetch_network(job_.model_sha256()));
  MG_TRY(const Graph network, parse_onnx(file).context("model"));
  MG_TRY(const ViewSplit split, split_views(network));
  const auto view = static_cast<std::size_t>(context_.endpoint.rank() - 1);
  if (view < split.devices.size()) return prepare_device(network, split.devices[view]);
  MG_TRY(upper_, make_upper_part(split, job_, compile_options(job_, context_)));
  return {};
}

Status ViewNode::prepare_device(const Graph& network, const ViewSplit::Device& part) {
  MG_TRY(dataset_, data::open_dataset(job_.data(), data::Split::test, context_.data_folder));
  samples_ = job_.limit() > 0 ? std::min<std::int64_t>(job_.limit(), dataset_->size()) : dataset_->size();
  // The hello says what data it is; what does not fit the network is for the leader to say, and nobody to compute.
  if (!learn::check_fits(network, *dataset_).ok()) return {};
  data::LoaderOptions loading{.batch = job_.micro_batch(), .workers = context_.threads};
  MG_TRY(loading.augmentation, learn::preparation_of(network, context_.data_folder));
  loader_.emplace(dataset_, loading);
  MG_TRY(device_, ViewDevice::create(part, compile_options(job_, context_)));
  format_.emplace(part.graph, part.features);
  return {};
}

void ViewNode::describe(Hello& hello) const {
  if (dataset_ == nullptr) {
    hello.set_without_data(true);
  } else {
    hello = describe_data(*dataset_, samples_);
  }
}

Status ViewNode::handle(Command command) {
  if (command.kind() == Command::VIEW && device_ != nullptr) {
    add_view(command);
  } else if (command.kind() == Command::FEATURES && device_ != nullptr) {
    say_features(command);
  } else if (command.kind() == Command::REST && upper_ != nullptr) {
    tasks_.push_back(std::move(command));
  }
  return {};
}

void ViewNode::add_view(const Command& command) {
  const std::int64_t begin = command.begin(), count = command.count();
  if (count < 1 || count > job_.micro_batch() || count > samples_ || begin < 0 || begin > samples_ - count) return;
  held_.erase(held_.begin(), held_.lower_bound(command.keep_from()));
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  loader_->request(std::move(indices));
  tasks_.push_back(command);
}

/// At once: others wait for them.
void ViewNode::say_features(const Command& command) const {
  const auto held = held_.find(command.micro_batch());
  if (held == held_.end()) return;
  const std::int64_t count = held->second.count;
  const auto is_row = [&](std::uint32_t row) { return row < static_cast<std::uint64_t>(count); };
  if (command.rows_size() > count || !std::ranges::all_of(command.rows(), is_row)) return;
  const std::vector<std::uint32_t> rows(command.rows().begin(), command.rows().end());
  std::vector<float> values;
  format_->append_rows(held->second.features, count, rows, values);
  FromNode message;
  message.mutable_view_values()->set_request(command.request());
  net::append_floats(*message.mutable_view_values()->mutable_values(), values);
  send(message);
}

Status ViewNode::work() {
  if (tasks_.empty()) return {};
  const Command command = std::move(tasks_.front());
  tasks_.pop_front();
  return device_ != nullptr ? see(command) : classify(command);
}

Status ViewNode::see(const Command& command) {
  MG_TRY(const data::Batch samples, loader_->next());
  const auto elements = static_cast<std::size_t>(device_->image_elements(command.count()));
  context_.device.charge(device_->flops());
  ViewDevice::Values made = device_->run(command.count(), samples.images.as<float>().first(elements));
  FromNode message;
  ViewValues& said = *message.mutable_view_values();
  said.set_request(command.request());
  net::append_floats(*said.mutable_values(), made.scores);
  said.mutable_truths()->Add(samples.labels.begin(), samples.labels.begin() + command.count());
  held_[command.micro_batch()] = {command.count(), std::move(made.features)};
  send(message);
  return {};
}

Status ViewNode::classify(const Command& command) {
  const std::int64_t count = command.count();
  if (count < 1 || count > job_.micro_batch()) return {};
  std::vector<float> features(static_cast<std::size_t>(upper_->input_elements(count)));
  if (!net::read_floats(command.values(), features).ok()) return {};
  MG_TRY(const auto answers, upper_->classify(count, features));
  context_.device.charge(upper_->flops());
  FromNode message;
  RestAnswer& said = *message.mutable_rest_answer();
  said.set_request(command.request());
  for (const exits::EarlyExit::Answer& answer : answers) {
    said.add_exits(static_cast<std::uint32_t>(answer.exit));
    said.add_classes(answer.predicted);
  }
  send(message);
  return {};
}

}  // namespace

Status run_view_node(const InferJob& job, job::RoleContext& context) {
  return ViewNode(job, context).run();
}

}  // namespace mangrove::infer

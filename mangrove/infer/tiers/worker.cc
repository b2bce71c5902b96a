#include "mangrove/infer/tiers/worker.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/tiers/bottom_models.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/network.h"
#include "mangrove/infer/worker_role.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::infer {
namespace {

class TierNode final : public WorkerRole {
 public:
  TierNode(const InferJob& job, job::RoleContext& context) : WorkerRole(job, context) {}

 private:
  struct Task {
    Command command;
    Instant ready;  // when its samples are here, or the values in their place
    bool dropped = false;
  };

  Status prepare() override;
  void describe(Hello& hello) const override;
  Status handle(Command command) override;
  void take_tier(std::uint32_t tier);
  Result<TierNetwork*> network_for(const Command& command);
  Status add_task(Command command);
  bool sees(const Command& command) const { return sees_samples(job_, *tier_, static_cast<Answer>(command.answer())); }
  bool fits(const Command& command, const TierNetwork& network) const;
  void drop_task(const Command& command);
  Instant arrival(const Command& command);
  Instant due() const override { return tasks_.empty() ? Instant::never() : tasks_.front().ready; }
  Status work() override;

  std::shared_ptr<const data::Dataset> dataset_;  // null: it has none, and can do only tasks that come with values
  Status no_dataset_;                             // why
  std::int64_t samples_ = 0;
  std::optional<std::uint32_t> tier_;                            // of the networks that it holds
  std::array<std::unique_ptr<TierNetwork>, kAnswers> networks_;  // by answer; one for all but of a network over tiers
  std::optional<data::Loader> loader_;  // of a device that sees samples; requests are in the order of the tasks
  std::deque<Task> tasks_;
  Instant link_free_;  // when the last samples will have come in
};

Status TierNode::prepare() {
  Result<std::shared_ptr<const data::Dataset>> opened =
      data::open_dataset(job_.data(), data::Split::test, context_.data_folder);
  if (!opened.ok()) {
    no_dataset_ = opened.error();
    return has_tier_without_data(job_) ? Status() : no_dataset_;
  }
  dataset_ = std::move(*opened);
  samples_ = job_.limit() > 0 ? std::min<std::int64_t>(job_.limit(), dataset_->size()) : dataset_->size();
  return {};
}

/// Tasks of another tier that still wait are dropped: the leader gives a device tasks of one tier only.
void TierNode::take_tier(std::uint32_t tier) {
  if (tier_ == tier) return;
  networks_ = {};
  loader_.reset();
  tasks_.clear();
  tier_ = tier;
}

/// Made when it is first needed.
Result<TierNetwork*> TierNode::network_for(const Command& command) {
  std::unique_ptr<TierNetwork>& network = networks_[has_tier_exits(job_) ? command.answer() : 0];
  if (network != nullptr) return network.get();
  if (sees(command) && dataset_ == nullptr) return no_dataset_.error();
  MG_TRY(const std::string file, fetch_network(job_.member_sha256(static_cast<int>(*tier_))));
  MG_TRY(const Graph graph, parse_onnx(file).context("model"));
  const auto answer = static_cast<Answer>(command.answer());
  MG_TRY(network, make_tier_network(graph, job_, *tier_, answer, compile_options(job_, context_)));
  if (sees(command)) {
    data::LoaderOptions loading{.batch = job_.micro_batch(), .workers = context_.threads};
    MG_TRY(loading.augmentation, learn::preparation_of(graph, context_.data_folder));
    loader_.emplace(dataset_, loading);
  }
  return network.get();
}

void TierNode::describe(Hello& hello) const {
  if (dataset_ == nullptr) {
    hello.set_without_data(true);
  } else {
    hello = describe_data(*dataset_, samples_);
  }
}

Status TierNode::handle(Command command) {
  if (command.kind() == Command::TASK) return add_task(std::move(command));
  if (command.kind() == Command::DROP) drop_task(command);
  return {};
}

Status TierNode::add_task(Command command) {
  const bool valid = command.begin() >= 0 && command.count() >= 1 && command.count() <= job_.micro_batch() &&
                     command.answer() < answers_of(job_) &&
                     command.member() < static_cast<std::uint32_t>(job_.member_sha256_size()) &&
                     job_.member_sha256_size() == job_.tiers_size();
  if (!valid) return {};
  take_tier(command.member());
  MG_TRY(const TierNetwork* const network, network_for(command));
  if (!fits(command, *network)) return {};
  if (sees(command)) {
    std::vector<std::uint32_t> indices(static_cast<std::size_t>(command.count()));
    std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(command.begin()));
    loader_->request(std::move(indices));
  }
  const Instant ready = arrival(command);
  tasks_.push_back({std::move(command), ready});
  return {};
}

/// Whether it has values of the right size, or its samples are here.
bool TierNode::fits(const Command& command, const TierNetwork& network) const {
  if (sees(command)) return command.count() <= samples_ && command.begin() <= samples_ - command.count();
  return std::ssize(command.values()) == command.count() * network.value_bytes();
}

/// The made up way of a task's samples, a byte a value, or of the values in their place, behind those that are on it
/// already.
Instant TierNode::arrival(const Command& command) {
  const TierPart& part = job_.tiers(static_cast<int>(*tier_));
  const std::int64_t size =
      sees(command) ? command.count() * dataset_->sample_shape().elements() : std::ssize(command.values());
  const auto bytes = static_cast<double>(size);
  link_free_ = std::max(link_free_, context_.clock.now()) + (part.rate() > 0 ? bytes / part.rate() : 0);
  return link_free_ + part.delay_s();
}

void TierNode::drop_task(const Command& command) {
  for (Task& task : tasks_)
    if (task.command.micro_batch() == command.micro_batch() && task.command.answer() == command.answer() &&
        task.command.request() == 0)
      task.dropped = true;
}

/// The next task, if its samples are here.
Status TierNode::work() {
  if (tasks_.empty() || context_.clock.now() < tasks_.front().ready) return {};
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  const Instant start = context_.clock.now();
  const Seconds rationed_start = context_.device.rationed();
  data::Batch samples{.images = {}, .labels = {}, .count = task.command.count()};
  if (sees(task.command)) {
    MG_TRY(samples, loader_->next());
  }
  if (task.dropped) return {};
  MG_TRY(TierNetwork * network, network_for(task.command));
  MG_TRY(TierAnswer said, network->answer(task.command, samples));
  context_.device.charge(network->flops());
  said.set_waited(start - task.ready);
  said.set_seconds(std::max(context_.clock.now() - start, context_.device.rationed() - rationed_start));
  FromNode message;
  *message.mutable_tier_answer() = std::move(said);
  send(message);
  return {};
}

}  // namespace

Status run_tier_node(const InferJob& job, job::RoleContext& context) {
  return TierNode(job, context).run();
}

}  // namespace mangrove::infer

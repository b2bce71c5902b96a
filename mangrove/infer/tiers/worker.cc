#include "mangrove/infer/tiers/worker.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/tags.h"
#include "mangrove/infer/tiers/bottom_models.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/network.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kWait = 5;  // for anything to do; then it is waited for again, as long as the leader is alive

class TierNode {
 public:
  TierNode(const InferJob& job, net::RoleContext& context)
      : job_(without_networks(job)), context_(context), fetch_(context, answer_timeout(job)) {}
  Status run();

 private:
  struct Task {
    Command command;
    Instant ready;  // when its samples are here, or the values in their place
    bool dropped = false;
  };

  Status prepare();
  void take_tier(std::uint32_t tier);
  Result<TierNetwork*> network_for(const Command& command);
  void say_hello();
  Status listen();
  void take_command(const net::Message& message);
  Status add_task(Command command);
  bool sees(const Command& command) const { return sees_samples(job_, *tier_, static_cast<Answer>(command.answer())); }
  bool fits(const Command& command, const TierNetwork& network) const;
  void drop_task(const Command& command);
  Instant arrival(const Command& command);
  Status work();
  void send(const FromNode& message) { context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString()); }

  const InferJob job_;
  net::RoleContext& context_;
  NetworkFetch fetch_;
  Status failure_;  // why this node cannot take part
  bool ended_ = false;
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
  const Result<std::string> file = fetch_.get(job_.member_sha256(static_cast<int>(*tier_)));
  ended_ = ended_ || (!file.ok() && file.code() == Code::cancelled);
  MG_RETURN_IF_ERROR(file);
  MG_TRY(const Graph graph, parse_onnx(*file).context("model"));
  const auto answer = static_cast<Answer>(command.answer());
  MG_TRY(network, make_tier_network(graph, job_, *tier_, answer, context_.threads));
  if (sees(command)) {
    data::LoaderOptions loading{.batch = job_.micro_batch(), .workers = context_.threads};
    MG_TRY(loading.augmentation, learn::preparation_of(graph, context_.data_folder));
    loader_.emplace(dataset_, loading);
  }
  return network.get();
}

Status TierNode::run() {
  failure_ = prepare();
  say_hello();
  while (!ended_) {
    MG_RETURN_IF_ERROR(listen());
    if (ended_ || !failure_.ok()) continue;
    failure_ = work();
    if (!failure_.ok()) say_hello();
  }
  return failure_.ok() || failure_.code() == Code::cancelled ? Status() : failure_;
}

void TierNode::say_hello() {
  FromNode message;
  Hello& hello = *message.mutable_hello();
  if (failure_.ok() && dataset_ == nullptr) {
    hello.set_without_data(true);
  } else if (failure_.ok()) {
    hello = describe_data(*dataset_, samples_);
  } else {
    hello.set_code(static_cast<int>(failure_.code()));
    hello.set_message(failure_.error().message);
  }
  send(message);
}

/// Takes everything that has come; waits for it until the samples of the next task are here.
Status TierNode::listen() {
  const Instant now = context_.clock.now();
  Deadline deadline = fetch_.has_commands()              ? now
                      : tasks_.empty() || !failure_.ok() ? now + kWait
                                                         : std::max(now, tasks_.front().ready);
  while (!ended_) {
    while (!ended_ && fetch_.has_commands()) take_command(fetch_.next_command());
    if (!context_.endpoint.members().alive(0)) return make_error(Code::unavailable, "inference: the leader is gone");
    const Result<net::Message> message = context_.endpoint.recv({0}, kCommandTag, deadline);
    if (message.ok()) {
      take_command(*message);
      deadline = context_.clock.now();
    } else if (message.code() == Code::cancelled) {
      return message.error();
    } else if (message.code() == Code::deadline_exceeded) {
      break;
    }
  }
  return {};
}

void TierNode::take_command(const net::Message& message) {
  Command command;
  if (!command.ParseFromString(message.payload)) {
    log_warn("command cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  if (command.kind() == Command::END) {
    ended_ = true;
  } else if (command.kind() == Command::PING || !failure_.ok()) {
    say_hello();
  } else if (command.kind() == Command::TASK) {
    failure_ = add_task(std::move(command));
    if (!failure_.ok()) say_hello();
  } else if (command.kind() == Command::DROP) {
    drop_task(command);
  }
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
  const Seconds rationed_start = rationed_time();
  data::Batch samples{.images = {}, .labels = {}, .count = task.command.count()};
  if (sees(task.command)) {
    MG_TRY(samples, loader_->next());
  }
  if (task.dropped) return {};
  MG_TRY(TierNetwork * network, network_for(task.command));
  MG_TRY(TierAnswer said, network->answer(task.command, samples));
  said.set_waited(start - task.ready);
  said.set_seconds(std::max(context_.clock.now() - start, rationed_time() - rationed_start));
  FromNode message;
  *message.mutable_tier_answer() = std::move(said);
  send(message);
  return {};
}

}  // namespace

Status run_tier_node(const InferJob& job, net::RoleContext& context) {
  return TierNode(job, context).run();
}

}  // namespace mangrove::infer

#include "mangrove/infer/node.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <thread>

#include "mangrove/base/log.h"
#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/single_run.h"
#include "mangrove/infer/stage.h"
#include "mangrove/infer/tags.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kWait = 5;  // for anything to do; then it is waited for again, as long as the leader is alive

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

class NodeRole {
 public:
  NodeRole(const InferJob& job, net::RoleContext& context) : job_(job), context_(context) {}
  Status run();

 private:
  /// A micro-batch that waits for a stage of this node.
  struct Task {
    Activation header;
    std::string payload;  // body at the end; unused by the first stage, whose samples the loader prepares
    std::size_t body_bytes = 0;
  };

  Status prepare();
  Status make_replica();
  void say_hello();
  Status listen(bool idle);
  void take_command(const net::Message& message);
  Status follow(const Command& command);
  Status send_profile(std::uint64_t request);
  Status start_single(std::uint64_t request);
  bool valid_placement(const Command& command) const;
  Status place(const Command& command);
  Status compile_stages();
  void feed(const Command& command);
  void take_activation(net::Message message);
  Status work();
  Status run_task(const Task& task);
  Status run_stage(const Activation& header, std::span<const float> received, Instant start);
  void send(FromNode message);

  const InferJob& job_;
  net::RoleContext& context_;
  Status failure_;  // why this node cannot take part
  bool ended_ = false;
  std::optional<Graph> graph_;
  std::shared_ptr<const data::Dataset> dataset_;
  std::int64_t samples_ = 0;
  data::LoaderOptions loading_;  // of micro-batches, prepared as the network was trained

  std::unique_ptr<learn::Replica> replica_;  // the unsplit network, until stages are placed
  std::optional<SingleRun> single_;

  std::uint64_t generation_ = 0;
  std::vector<StagePlace> places_;                        // of all stages
  std::map<std::size_t, std::unique_ptr<Stage>> stages_;  // held here, by number
  std::map<std::size_t, Seconds> overhead_;               // of sending, by stage; told with its next micro-batch
  std::optional<data::Loader> loader_;                    // requests are in the order of the first stage's tasks
  std::deque<Task> tasks_;
  std::vector<float> received_;  // values of the task at hand
};

Status NodeRole::prepare() {
  MG_TRY(graph_, parse_onnx(job_.model()).context("model"));
  MG_TRY(dataset_, data::open_dataset(job_.data(), data::Split::test, context_.data_folder));
  samples_ = job_.limit() > 0 ? std::min<std::int64_t>(job_.limit(), dataset_->size()) : dataset_->size();
  loading_ = {.batch = job_.micro_batch(), .workers = context_.threads};
  MG_TRY(loading_.augmentation, learn::preparation_of(*graph_, context_.data_folder));
  return make_replica();
}

Status NodeRole::make_replica() {
  if (replica_) return {};
  MG_TRY(replica_, learn::Replica::create(*graph_, {.batch = job_.micro_batch(),
                                                    .mode = Mode::inference,
                                                    .backend = job_.backend(),
                                                    .threads = context_.threads,
                                                    .fuse = !job_.unfused()}));
  return {};
}

Status NodeRole::run() {
  failure_ = prepare();
  say_hello();
  while (!ended_) {
    MG_RETURN_IF_ERROR(listen(tasks_.empty() && !single_));
    if (ended_ || !failure_.ok()) continue;
    failure_ = work();
    if (!failure_.ok()) say_hello();
  }
  return failure_;
}

void NodeRole::send(FromNode message) {
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

void NodeRole::say_hello() {
  FromNode message;
  Hello& hello = *message.mutable_hello();
  if (failure_.ok()) {
    hello.set_samples(samples_);
    for (const std::string& name : dataset_->class_names()) hello.add_classes(name);
    for (const std::int64_t size : dataset_->sample_shape()) hello.add_sample_shape(size);
    hello.set_host(host_name());
    hello.set_cores(static_cast<std::int32_t>(std::max(1u, std::thread::hardware_concurrency())));
    hello.set_threads(context_.threads);
  } else {
    hello.set_code(static_cast<int>(failure_.code()));
    hello.set_message(failure_.error().message);
  }
  send(std::move(message));
}

/// Takes everything that has come; when idle, waits for it.
Status NodeRole::listen(bool idle) {
  Deadline deadline = idle ? context_.clock.after(kWait) : context_.clock.now();
  while (!ended_) {
    const net::Members members = context_.endpoint.members();
    if (!members.alive(0)) return make_error(Code::unavailable, "inference: the leader is gone");
    Result<net::Message> message =
        context_.endpoint.recv_any(members.alive_ranks(), {kCommandTag, kActivationTag}, deadline);
    if (message.ok()) {
      message->tag == kCommandTag ? take_command(*message) : take_activation(std::move(*message));
      deadline = context_.clock.now();
    } else if (message.code() == Code::cancelled) {
      return message.error();
    } else if (message.code() == Code::deadline_exceeded) {
      break;
    }
  }
  return {};
}

void NodeRole::take_command(const net::Message& message) {
  Command command;
  if (message.from != 0 || !command.ParseFromString(message.payload)) {
    log_warn("command cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  if (command.kind() == Command::END) {
    ended_ = true;
    return;
  }
  if (failure_.ok()) failure_ = follow(command);
  if (!failure_.ok() || command.kind() == Command::PING) say_hello();
}

Status NodeRole::follow(const Command& command) {
  switch (command.kind()) {
    case Command::PROFILE:
      return send_profile(command.request());
    case Command::SINGLE:
      return start_single(command.request());
    case Command::PLACE:
      return place(command);
    case Command::FEED:
      feed(command);
      return {};
    default:
      return {};
  }
}

Status NodeRole::send_profile(std::uint64_t request) {
  single_.reset();
  MG_RETURN_IF_ERROR(make_replica());
  FromNode message;
  MG_TRY(*message.mutable_profile(), profile(*replica_, *dataset_, samples_, loading_, context_.clock));
  message.mutable_profile()->set_request(request);
  send(std::move(message));
  return {};
}

Status NodeRole::start_single(std::uint64_t request) {
  single_.reset();
  MG_RETURN_IF_ERROR(make_replica());
  single_.emplace(request, *replica_, dataset_, samples_, loading_, context_.clock);
  return {};
}

/// Every operator in exactly one stage, in order, on a rank that there is.
bool NodeRole::valid_placement(const Command& command) const {
  std::size_t position = 0;
  for (const StagePlace& place : command.stages()) {
    if (place.first() != position || place.last() <= place.first()) return false;
    if (place.rank() < 1 || place.rank() >= context_.endpoint.size()) return false;
    position = place.last();
  }
  return position == graph_->nodes().size();
}

/// Compiles the stages that are new here, keeps the others, and forgets the micro-batches of older generations.
Status NodeRole::place(const Command& command) {
  if (command.generation() < generation_ || !valid_placement(command)) return {};
  if (command.generation() > generation_) {
    single_.reset();
    replica_.reset();
    for (const Task& task : tasks_) {
      if (task.header.stage() == 0) MG_RETURN_IF_ERROR(loader_->next());
    }
    tasks_.clear();
    places_.assign(command.stages().begin(), command.stages().end());
    MG_RETURN_IF_ERROR(compile_stages());
    generation_ = command.generation();
  }
  FromNode message;
  message.mutable_ready()->set_generation(generation_);
  send(std::move(message));
  return {};
}

Status NodeRole::compile_stages() {
  std::map<std::size_t, std::unique_ptr<Stage>> held;
  for (std::size_t s = 0; s < places_.size(); ++s) {
    if (places_[s].rank() != context_.endpoint.rank()) continue;
    if (const auto found = stages_.find(s); found != stages_.end()) {
      held[s] = std::move(found->second);
      continue;
    }
    MG_TRY(held[s], Stage::create(*graph_, places_[s].first(), places_[s].last(),
                                  {job_.micro_batch(), job_.backend(), context_.threads, !job_.unfused()}));
    const std::vector<float> nothing(static_cast<std::size_t>(held[s]->input_elements(job_.micro_batch())));
    MG_RETURN_IF_ERROR(held[s]->run(job_.micro_batch(), nothing));  // touches all memory before the time counts
  }
  stages_ = std::move(held);
  if (stages_.contains(0) && !loader_) loader_.emplace(dataset_, loading_);
  return {};
}

/// The samples are loaded while older micro-batches are computed.
void NodeRole::feed(const Command& command) {
  const bool valid = command.begin() >= 0 && command.count() >= 1 && command.count() <= job_.micro_batch() &&
                     command.count() <= samples_ && command.begin() <= samples_ - command.count();
  if (command.generation() != generation_ || !stages_.contains(0) || !valid) return;
  Task task;
  task.header.set_generation(command.generation());
  task.header.set_micro_batch(command.micro_batch());
  task.header.set_count(command.count());
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(command.count()));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(command.begin()));
  loader_->request(std::move(indices));
  tasks_.push_back(std::move(task));
}

void NodeRole::take_activation(net::Message message) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  Task task;
  Activation& header = task.header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("activation cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  const auto stage = stages_.find(header.stage());
  if (header.generation() != generation_ || stage == stages_.end() || header.stage() == 0) return;
  const bool valid = header.count() >= 1 && header.count() <= job_.micro_batch() &&
                     4 * static_cast<std::size_t>(stage->second->input_elements(header.count())) == parts->body.size();
  if (!valid) {
    log_warn("activation does not fit the stage", {{"from", message.from}, {"stage", header.stage()}});
    return;
  }
  const bool travelled = message.from != context_.endpoint.rank();
  header.mutable_trace()->add_sent_bytes(travelled ? static_cast<std::int64_t>(message.payload.size()) : 0);
  task.body_bytes = parts->body.size();
  task.payload = std::move(message.payload);
  tasks_.push_back(std::move(task));
}

/// One micro-batch of whatever there is to do.
Status NodeRole::work() {
  if (!tasks_.empty()) {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return run_task(task);
  }
  if (!single_) return {};
  MG_TRY(std::optional<SingleChunk> chunk, single_->step());
  if (single_->done()) single_.reset();
  if (!chunk) return {};
  FromNode message;
  *message.mutable_single() = std::move(*chunk);
  send(std::move(message));
  return {};
}

Status NodeRole::run_task(const Task& task) {
  if (task.header.stage() == 0) {
    MG_TRY(const data::Batch batch, loader_->next());
    const Instant start = context_.clock.now();
    const auto elements = static_cast<std::size_t>(stages_.at(0)->input_elements(task.header.count()));
    return run_stage(task.header, batch.images.as<float>().first(elements), start);
  }
  const Instant start = context_.clock.now();
  received_.resize(task.body_bytes / sizeof(float));
  MG_RETURN_IF_ERROR(
      net::read_floats(std::string_view(task.payload).substr(task.payload.size() - task.body_bytes), received_));
  return run_stage(task.header, received_, start);
}

Status NodeRole::run_stage(const Activation& header, std::span<const float> received, Instant start) {
  const std::size_t stage = header.stage();
  MG_TRY(const std::span<const float> values, stages_.at(stage)->run(header.count(), received));
  const Instant computed = context_.clock.now();
  Trace trace = header.trace();
  trace.add_seconds(computed - start + overhead_[stage]);
  if (stage + 1 == places_.size()) {
    FromNode message;
    Predictions& predictions = *message.mutable_predictions();
    predictions.set_generation(header.generation());
    predictions.set_micro_batch(header.micro_batch());
    const auto classes = static_cast<std::int32_t>(static_cast<std::int64_t>(values.size()) / header.count());
    for (const std::int32_t c : learn::argmax_rows(values, classes)) predictions.add_classes(c);
    *predictions.mutable_trace() = std::move(trace);
    send(std::move(message));
  } else {
    Activation next = header;
    next.set_stage(static_cast<std::uint32_t>(stage) + 1);
    *next.mutable_trace() = std::move(trace);
    std::string payload = net::begin_payload(next.SerializeAsString(), values.size_bytes());
    net::append_floats(payload, values);
    context_.endpoint.send(places_[stage + 1].rank(), kActivationTag, std::move(payload));
  }
  overhead_[stage] = context_.clock.now() - computed;
  return {};
}

}  // namespace

Status run_node(const InferJob& job, net::RoleContext& context) {
  return NodeRole(job, context).run();
}

}  // namespace mangrove::infer

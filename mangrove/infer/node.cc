#include "mangrove/infer/node.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "mangrove/base/control_group.h"
#include "mangrove/base/log.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/activation_codec.h"
#include "mangrove/infer/held_stages.h"
#include "mangrove/infer/link_probe.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/single_run.h"
#include "mangrove/infer/tags.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kWait = 5;  // for anything to do; then it is waited for again, as long as the leader is alive

double cores_of_host() {
  return std::max(1u, std::thread::hardware_concurrency());
}

/// The machine whose cores this process uses; one with a quota of its own counts as a machine of its own.
std::string host_name() {
  char name[256] = {};
  std::string host = gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
  const std::vector<OwnControlGroup> groups = control_groups("cpu");
  return cpu_limit() < cores_of_host() && !groups.empty() ? host + groups.front().folder.string() : host;
}

class NodeRole {
 public:
  NodeRole(const InferJob& job, net::RoleContext& context)
      : job_(job),
        context_(context),
        link_(context.endpoint, context.clock),
        stages_({job.micro_batch(), job.backend(), context.threads, !job.unfused()}, context.endpoint.rank()),
        codec_(job.activations()),
        has_spare_core_(cpu_limit() >= context.threads + 1),
        slowdown_(slowdown(1)) {}
  Status run();

 private:
  /// A micro-batch that waits for a stage of this node.
  struct Task {
    Activation header;
    std::string payload;  // body at the end; unused by the first stage, whose samples the loader prepares
    std::size_t body_bytes = 0;
  };

  Status prepare();
  Status make_replica(std::uint32_t member);
  void say_hello();
  Status listen(bool idle);
  void take_command(const net::Message& message);
  Status follow(const Command& command);
  Status send_profile(std::uint64_t request);
  Status start_single(const Command& command);
  void start_link(const Command& command);
  Status place(const Command& command);
  void feed(const Command& command);
  void take_activation(net::Message message);
  void take_probe(const net::Message& message);
  Status work();
  Status run_task(const Task& task);
  Status run_stage(const Activation& header, std::span<const float> received, Instant start);
  Seconds busy(std::size_t stage, Seconds computing);
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
  std::uint32_t member_ = 0;                 // of the ensemble, that it is
  std::optional<Profile> profile_;           // of it
  std::optional<SingleRun> single_;
  LinkProbe link_;

  std::uint64_t generation_ = 0;
  HeldStages stages_;
  ActivationCodec codec_;
  std::map<std::size_t, Seconds> overhead_;  // of sending, by stage; told with its next micro-batch
  const bool has_spare_core_;                // for reading, sending and receiving beside computing
  const double slowdown_;                    // by a CPU quota
  Seconds counted_cpu_ = 0;                  // of this process, as of the last micro-batch
  std::optional<data::Loader> loader_;       // requests are in the order of the first stage's tasks
  std::deque<Task> tasks_;
  std::vector<float> received_;  // values of the task at hand
};

Status NodeRole::prepare() {
  MG_TRY(dataset_, data::open_dataset(job_.data(), data::Split::test, context_.data_folder));
  samples_ = job_.limit() > 0 ? std::min<std::int64_t>(job_.limit(), dataset_->size()) : dataset_->size();
  return make_replica(0);
}

/// Of the network, or of a member of the ensemble: a node holds one at a time.
Status NodeRole::make_replica(std::uint32_t member) {
  if (replica_ && member_ == member) return {};
  replica_.reset();
  member_ = member;
  const int at = static_cast<int>(member);
  MG_TRY(graph_, parse_onnx(job_.members().empty() ? job_.model() : job_.members(at)).context("model"));
  loading_ = {.batch = job_.micro_batch(), .workers = context_.threads};
  MG_TRY(loading_.augmentation, learn::preparation_of(*graph_, context_.data_folder));
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
    hello.set_cores(static_cast<std::int32_t>(cores_of_host()));
    hello.set_cpu(cpu_limit());
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
        context_.endpoint.recv_any(members.alive_ranks(), {kCommandTag, kActivationTag, kProbeTag}, deadline);
    if (message.ok()) {
      if (message->tag == kCommandTag) take_command(*message);
      if (message->tag == kProbeTag) take_probe(*message);
      if (message->tag == kActivationTag) take_activation(std::move(*message));
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
      return start_single(command);
    case Command::LINK:
      start_link(command);
      return {};
    case Command::PLACE:
      return place(command);
    case Command::FEED:
      feed(command);
      return {};
    default:
      return {};
  }
}

/// Measured once: who asks again has lost the answer.
Status NodeRole::send_profile(std::uint64_t request) {
  single_.reset();
  if (!profile_) {
    MG_RETURN_IF_ERROR(make_replica(0));
    MG_TRY(profile_, profile(*replica_, *dataset_, samples_, loading_, context_.threads));
  }
  profile_->set_request(request);
  FromNode message;
  *message.mutable_profile() = *profile_;
  send(std::move(message));
  return {};
}

Status NodeRole::start_single(const Command& command) {
  single_.reset();
  const bool is_ensemble = !job_.members().empty();
  if (is_ensemble && command.member() >= static_cast<std::uint32_t>(job_.members_size())) return {};
  MG_RETURN_IF_ERROR(make_replica(is_ensemble ? command.member() : 0));
  single_.emplace(command.request(), *replica_, dataset_, samples_, loading_, context_.clock, is_ensemble);
  return {};
}

void NodeRole::start_link(const Command& command) {
  const bool is_other = command.peer() != context_.endpoint.rank();
  if (command.peer() >= 1 && command.peer() < context_.endpoint.size() && is_other)
    link_.start(command.request(), command.peer());
}

void NodeRole::take_probe(const net::Message& message) {
  std::optional<Link> link = link_.take(message);
  if (!link) return;
  link->set_byte_seconds(link->byte_seconds() * slowdown_);
  link->set_message_seconds(link->message_seconds() * slowdown_);
  FromNode result;
  *result.mutable_link() = std::move(*link);
  send(std::move(result));
}

/// Begins a generation: forgets the micro-batches of older ones.
Status NodeRole::place(const Command& command) {
  if (command.generation() < generation_ || !makes_sense(command, *graph_, context_.endpoint.size())) return {};
  if (command.generation() > generation_) {
    single_.reset();
    replica_.reset();
    for (const Task& task : tasks_) {
      if (task.header.stage() == 0) MG_RETURN_IF_ERROR(loader_->next());
    }
    tasks_.clear();
    overhead_.clear();
    counted_cpu_ = process_cpu_time();
    MG_RETURN_IF_ERROR(stages_.place(command, *graph_));
    if (stages_.find(0) != nullptr && !loader_) loader_.emplace(dataset_, loading_);
    generation_ = command.generation();
  }
  FromNode message;
  message.mutable_ready()->set_generation(generation_);
  send(std::move(message));
  return {};
}

/// The samples are loaded while older micro-batches are computed.
void NodeRole::feed(const Command& command) {
  const bool valid = command.begin() >= 0 && command.count() >= 1 && command.count() <= job_.micro_batch() &&
                     command.count() <= samples_ && command.begin() <= samples_ - command.count();
  if (command.generation() != generation_ || stages_.find(0) == nullptr || !valid) return;
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
  const Stage* stage = stages_.find(header.stage());
  if (header.generation() != generation_ || stage == nullptr || header.stage() == 0) return;
  const bool valid = header.count() >= 1 && header.count() <= job_.micro_batch() &&
                     encoded_bytes(job_.activations(), stage->input_elements(header.count())) ==
                         static_cast<std::int64_t>(parts->body.size());
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
    const Instant start = context_.clock.now();  // waiting for the samples is this device's work too
    MG_TRY(const data::Batch batch, loader_->next());
    const auto elements = static_cast<std::size_t>(stages_.find(0)->input_elements(task.header.count()));
    return run_stage(task.header, batch.images.as<float>().first(elements), start);
  }
  const Instant start = context_.clock.now();
  const std::int64_t elements = stages_.find(task.header.stage())->input_elements(task.header.count());
  received_.resize(static_cast<std::size_t>(elements));
  MG_RETURN_IF_ERROR(
      codec_.decode(std::string_view(task.payload).substr(task.payload.size() - task.body_bytes), received_));
  return run_stage(task.header, received_, start);
}

/// What this board has worked for a micro-batch: computing, unpacking and packing; where no core is left for reading,
/// sending and receiving, all that its process has computed since the last one, as its quota stretches that.
Seconds NodeRole::busy(std::size_t stage, Seconds computing) {
  if (has_spare_core_) return computing + overhead_[stage];
  const Seconds cpu = process_cpu_time();
  return (cpu - std::exchange(counted_cpu_, cpu)) * slowdown_;
}

Status NodeRole::run_stage(const Activation& header, std::span<const float> received, Instant start) {
  const std::size_t stage = header.stage();
  MG_TRY(const std::span<const float> values, stages_.find(stage)->run(header.count(), received));
  const Instant computed = context_.clock.now();
  Trace trace = header.trace();
  trace.add_seconds(busy(stage, computed - start));
  trace.add_queued(static_cast<std::uint32_t>(
      std::ranges::count_if(tasks_, [&](const Task& task) { return task.header.stage() == stage; })));
  if (stage + 1 == stages_.size()) {
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
    const std::int64_t bytes = encoded_bytes(job_.activations(), std::ssize(values));
    std::string payload = net::begin_payload(next.SerializeAsString(), static_cast<std::size_t>(bytes));
    codec_.append(payload, values);
    context_.endpoint.send(stages_.rank_of(stage + 1), kActivationTag, std::move(payload));
  }
  overhead_[stage] = context_.clock.now() - computed;
  return {};
}

}  // namespace

Status run_node(const InferJob& job, net::RoleContext& context) {
  return NodeRole(job, context).run();
}

}  // namespace mangrove::infer

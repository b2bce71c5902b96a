#include "mangrove/infer/pipeline/worker.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "mangrove/engine/load_parameters.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/pipeline/link_probe.h"
#include "mangrove/infer/pipeline/node_profile.h"
#include "mangrove/infer/pipeline/single_run.h"
#include "mangrove/infer/pipeline/stage_worker.h"
#include "mangrove/infer/tags.h"
#include "mangrove/infer/worker_role.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::infer {
namespace {

class PipelineWorker final : public WorkerRole {
 public:
  PipelineWorker(const InferJob& job, job::RoleContext& context, const MakeStreamPart& make_part)
      : WorkerRole(job, context, {kActivationTag, kProbeTag}),
        link_(context.endpoint, context.clock, context.device),
        slowdown_(context.device.slowdown(1)),
        part_(make_part(
            {.job = job_,
             .context = context,
             .slowdown = slowdown_,
             .load = [this](Execution& execution, const Graph& part) { return load_weights(execution, part); }})) {}

 private:
  Status prepare() override;
  bool is_ensemble() const { return job_.member_sha256_size() > 0; }
  Status take_network();
  bool has_room(const Program& program) const;
  Status prepare_samples();
  Status load_weights(Execution& execution, const Graph& part);
  Result<Tensor> fetched_parameter(const std::string& name, const Tensor& outlined);
  Status make_graph(std::uint32_t member);
  Status make_replica(std::uint32_t member);
  void describe(Hello& hello) const override;
  Status handle(Command command) override;
  void take(net::Message message) override;
  Status send_profile(std::uint64_t request);
  Status start_single(const Command& command);
  void start_link(const Command& command);
  Status place(const Command& command);
  void take_probe(const net::Message& message);
  Instant due() const override { return part_->has_work() || single_ ? Instant() : Instant::never(); }
  Status work() override;

  std::optional<Graph> graph_;
  std::shared_ptr<const Program> outline_;        // of a node without the memory for the whole network; else null
  std::map<std::string, std::string> locations_;  // SHA-256 of the weights that graph_ does not have
  SampleSource source_;

  std::uint32_t member_ = 0;                 // of the ensemble, that graph_ is
  std::unique_ptr<learn::Replica> replica_;  // of the unsplit network, until stages are placed
  std::optional<Profile> profile_;           // of it
  std::optional<SingleRun> single_;
  LinkProbe link_;
  const double slowdown_;  // by a CPU quota
  const std::unique_ptr<StreamPart> part_;
};

Status PipelineWorker::prepare() {
  MG_RETURN_IF_ERROR(take_network());
  if (job_.frames()) {
    using Kind = FrameSamples::Kind;
    MG_TRY(source_.frames, FrameSamples::create(*graph_, job_.frame_values() ? Kind::values : Kind::images));
    source_.dataset = source_.frames;
    source_.samples = job_.micro_batch();
    return prepare_samples();
  }
  MG_TRY(source_.dataset, data::open_dataset(job_.data(), data::Split::test, context_.data_folder));
  const std::int64_t size = source_.dataset->size();
  source_.samples = job_.limit() > 0 ? std::min(job_.limit(), size) : size;
  return prepare_samples();
}

/// How samples are read; and the network, where all of it is here.
Status PipelineWorker::prepare_samples() {
  source_.loading = {.batch = job_.micro_batch(), .workers = context_.threads};
  if (!job_.frame_values()) {
    MG_TRY(source_.loading.augmentation, learn::preparation_of(*graph_, context_.data_folder));
  }
  return outline_ == nullptr ? make_replica(0) : Status();
}

/// The whole network; where the memory is not enough for it, its outline.
Status PipelineWorker::take_network() {
  if (job_.outline().empty() || context_.device.usual_memory() == 0) return make_graph(0);
  MG_TRY(OnnxOutline outline, parse_onnx_outline(job_.outline()).context("outline"));
  const CompiledStageOptions options = compile_options(job_, context_);
  MG_TRY(outline_, Program::compile(outline.graph.without_weights(), options.for_batch(options.micro_batch)));
  if (has_room(*outline_)) {
    outline_.reset();
    return make_graph(0);
  }
  graph_ = std::move(outline.graph);
  locations_ = std::move(outline.locations);
  return {};
}

/// Whether the memory is enough for the whole network, which is there three times while it is loaded: as a file, as a
/// graph and as a program.
bool PipelineWorker::has_room(const Program& program) const {
  Bytes weights = 0;
  for (const std::string& name : program.graph().parameters())
    weights += program.graph().initializers().at(name).bytes();
  const Bytes needed = context_.device.needed_memory() + program.memory().total() + 2 * weights;
  return needed <= context_.device.usual_memory();
}

/// One after the other: of a large network there is never more here than its stages have.
Status PipelineWorker::load_weights(Execution& execution, const Graph& part) {
  if (outline_ == nullptr) return load_parameters(execution, part);
  return load_parameters_from(
      [&](const std::string& name) { return fetched_parameter(name, part.initializers().at(name)); }, execution, part);
}

/// outlined: the parameter as the outline has it, with its values only if it is small.
Result<Tensor> PipelineWorker::fetched_parameter(const std::string& name, const Tensor& outlined) {
  const auto found = locations_.find(name);
  if (found == locations_.end()) return outlined;
  MG_TRY(const std::string weights, fetch_weights(found->second));
  if (std::ssize(weights) != outlined.bytes())
    return make_error(Code::data_loss, "weights '" + name + "': expected " + format_bytes(outlined.bytes()) +
                                           ", the leader sent " + format_bytes(std::ssize(weights)));
  Tensor tensor(outlined.dtype(), outlined.shape());
  std::memcpy(tensor.data(), weights.data(), weights.size());
  return tensor;
}

/// Of the network, or of a member of the ensemble: a node holds one at a time.
Status PipelineWorker::make_graph(std::uint32_t member) {
  if (graph_ && member_ == member) return {};
  replica_.reset();
  graph_.reset();
  MG_TRY(const std::string network,
         fetch_network(is_ensemble() ? job_.member_sha256(static_cast<int>(member)) : job_.model_sha256()));
  MG_TRY(graph_, parse_onnx(network).context("model"));
  member_ = member;
  return {};
}

Status PipelineWorker::make_replica(std::uint32_t member) {
  if (replica_ && member_ == member) return {};
  MG_RETURN_IF_ERROR(make_graph(member));
  MG_TRY(replica_, learn::Replica::create(*graph_, whole_network(compile_options(job_, context_))));
  return {};
}

void PipelineWorker::describe(Hello& hello) const {
  hello.set_samples(source_.samples);
  for (const std::string& name : source_.dataset->class_names()) hello.add_classes(name);
  for (const std::int64_t size : source_.dataset->sample_shape()) hello.add_sample_shape(size);
  hello.set_host(context_.device.host());
  hello.set_cores(context_.device.cores());
  hello.set_cpu(context_.device.cpu_share());
  hello.set_threads(context_.threads);
  hello.set_memory(context_.device.usual_memory());
  hello.set_without_network(outline_ != nullptr);
}

void PipelineWorker::take(net::Message message) {
  if (message.tag == kProbeTag) take_probe(message);
  if (message.tag == kActivationTag) part_->take_activation(std::move(message));
}

Status PipelineWorker::handle(Command command) {
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
      part_->feed(command);
      return {};
    case Command::MISSING:
      part_->say_status(command);
      return {};
    default:
      return {};
  }
}

/// Measured once: who asks again has lost the answer.
Status PipelineWorker::send_profile(std::uint64_t request) {
  single_.reset();
  if (!profile_) {
    if (outline_ == nullptr) MG_RETURN_IF_ERROR(make_replica(0));
    MG_TRY(profile_, outline_ == nullptr ? profile_node(job_, context_, *replica_, source_)
                                         : profile_pieces(job_, context_, *outline_, source_));
  }
  profile_->set_request(request);
  FromNode message;
  *message.mutable_profile() = *profile_;
  send(message);
  return {};
}

Status PipelineWorker::start_single(const Command& command) {
  single_.reset();
  if (outline_ != nullptr) return {};
  if (is_ensemble() && command.member() >= static_cast<std::uint32_t>(job_.member_sha256_size())) return {};
  MG_RETURN_IF_ERROR(make_replica(is_ensemble() ? command.member() : 0));
  single_.emplace(command.request(), *replica_, source_.dataset, source_.samples, source_.loading, context_,
                  is_ensemble());
  return {};
}

void PipelineWorker::start_link(const Command& command) {
  const bool is_other = command.peer() != context_.endpoint.rank();
  if (command.peer() >= 1 && command.peer() < context_.endpoint.size() && is_other)
    link_.start(command.request(), command.peer());
}

void PipelineWorker::take_probe(const net::Message& message) {
  std::optional<Link> link = link_.take(message);
  if (!link) return;
  link->set_byte_seconds(link->byte_seconds() * slowdown_);
  link->set_message_seconds(link->message_seconds() * slowdown_);
  FromNode result;
  *result.mutable_link() = std::move(*link);
  send(result);
}

Status PipelineWorker::place(const Command& command) {
  if (command.generation() < part_->generation() || !part_->makes_sense(command, *graph_)) return {};
  if (command.generation() > part_->generation()) {
    single_.reset();
    replica_.reset();
    context_.device.release_freed_memory();
    MG_RETURN_IF_ERROR(part_->place(command, *graph_, source_));
  }
  FromNode message;
  message.mutable_ready()->set_generation(part_->generation());
  send(message);
  return {};
}

/// One micro-batch of whatever there is to do.
Status PipelineWorker::work() {
  if (part_->has_work()) return part_->work();
  if (!single_) return {};
  MG_TRY(std::optional<SingleChunk> chunk, single_->step());
  if (single_->done()) single_.reset();
  if (!chunk) return {};
  FromNode message;
  *message.mutable_single() = std::move(*chunk);
  send(message);
  return {};
}

}  // namespace

Status run_node(const InferJob& job, job::RoleContext& context) {
  return run_node(job, context,
                  [](StreamPartOptions options) { return std::make_unique<StageWorker>(std::move(options)); });
}

Status run_node(const InferJob& job, job::RoleContext& context, const MakeStreamPart& make_part) {
  return PipelineWorker(job, context, make_part).run();
}

}  // namespace mangrove::infer

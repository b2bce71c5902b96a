#include "mangrove/infer/leader.h"

#include <algorithm>
#include <map>

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/baseline.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/nodes.h"
#include "mangrove/infer/placement.h"
#include "mangrove/infer/stage_plan.h"
#include "mangrove/infer/stream.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/replica.h"
#include "mangrove/plan/pipeline_cost.h"

namespace mangrove::infer {
namespace {

Status check_stages(const InferJob& job, const Graph& graph) {
  const std::size_t operators = graph.nodes().size();
  if (static_cast<std::size_t>(job.stages()) <= operators) return {};
  return make_error(Code::invalid_argument, "stages: " + std::to_string(job.stages()) +
                                                " stages cannot be cut from the " + std::to_string(operators) +
                                                " operators of model '" + graph.name() + "'");
}

/// The data must be what the network was built for.
Status check_data(const InferJob& job, const Graph& graph, const Hello& data) {
  if (data.samples() < 1) return make_error(Code::invalid_argument, "data set '" + job.data() + "' is empty");
  MG_RETURN_IF_ERROR(learn::check_classifier(graph));
  const Shape sample({data.sample_shape().begin(), data.sample_shape().end()});
  return learn::check_fits(graph, sample, data.classes_size()).context("data set '" + job.data() + "'");
}

/// Numbers the machines of the nodes.
class Hosts {
 public:
  explicit Hosts(const Nodes& nodes) : nodes_(nodes) {}
  std::size_t of(net::Rank rank) {
    const auto [entry, is_new] = numbers_.emplace(nodes_.hello(rank).host(), cores_.size());
    if (is_new) cores_.push_back(nodes_.hello(rank).cores());
    return entry->second;
  }
  const std::vector<int>& cores() const { return cores_; }

 private:
  const Nodes& nodes_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<int> cores_;
};

/// Before the run: how long the pipeline should take on these nodes. Beside the threads of the stages work those that
/// load samples and those that carry what crosses a cut; they count as devices of their own, with negative numbers.
Seconds predict(const Nodes& nodes, const StagePlan& plan, const Placement& placement, const InferJob& job,
                std::size_t micro_batches) {
  Hosts hosts(nodes);
  std::vector<plan::PipelineLoad> loads = {{plan.read_seconds, -1, hosts.of(placement.front()), 1}};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const net::Rank rank = placement[s];
    loads.push_back({plan.stages[s].seconds, rank, hosts.of(rank), nodes.hello(rank).threads()});
    if (s + 1 == plan.stages.size() || placement[s + 1] == rank) continue;
    const std::int64_t bytes = plan.stages[s].bytes_per_image * job.micro_batch();
    const Seconds carrying = static_cast<double>(bytes) / kTransportBytesPerSecond;
    const int device = -2 - 2 * static_cast<int>(s);
    loads.push_back({carrying, device, hosts.of(rank), 1});
    loads.push_back({carrying, device - 1, hosts.of(placement[s + 1]), 1});
  }
  return plan::predict_pipeline(loads, hosts.cores(), micro_batches).seconds;
}

void report(Reports& reports, const InferJob& job, const Hello& data, const Baseline& baseline, const StagePlan& plan,
            const StreamResult& streamed, Seconds predicted_seconds) {
  Reports::Result result;
  result.images = data.samples();
  learn::ConfusionMatrix confusion(data.classes_size());
  std::int64_t agreeing = 0;
  for (std::size_t i = 0; i < streamed.predictions.size(); ++i) {
    result.lost += streamed.deliveries[i] == 0 ? 1 : 0;
    result.duplicated += std::max(0, streamed.deliveries[i] - 1);
    if (streamed.deliveries[i] == 0) continue;
    confusion.add(baseline.truths[i], streamed.predictions[i]);
    agreeing += streamed.predictions[i] == baseline.predictions[i] ? 1 : 0;
  }
  result.accuracy = confusion.accuracy();
  result.macro_f1 = confusion.macro_f1();
  result.agreement = static_cast<double>(agreeing) / static_cast<double>(data.samples());
  result.repeated = streamed.repeated;
  result.seconds = streamed.seconds;
  result.single_seconds = baseline.seconds;
  result.predicted_seconds = predicted_seconds;
  result.micro_batch = job.micro_batch();
  result.window = window(job);
  const std::int64_t micro_batches = (data.samples() + job.micro_batch() - 1) / job.micro_batch();
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    result.stages.push_back({plan.stages[s], streamed.placement[s], streamed.stage_seconds[s],
                             plan.stages[s].seconds * static_cast<double>(micro_batches), streamed.stage_sent[s]});
  }
  reports.result(result);
}

Status lead(const InferJob& job, net::RoleContext& context, const Graph& graph, Nodes& nodes, Reports& reports) {
  const Seconds timeout = answer_timeout(job);
  MG_TRY(const Hello data, nodes.gather());
  MG_RETURN_IF_ERROR(check_data(job, graph, data));
  MG_TRY(const Profile profile, measure_profile(context, nodes, reports, timeout));
  MG_TRY(const StagePlan plan, plan_stages(graph, profile, static_cast<std::size_t>(job.stages()), job.micro_batch()));
  MG_TRY(const net::RankSet ranks, nodes.wait_usable());
  const Placement placement = place_stages(plan.stages.size(), ranks);
  const auto micro_batches = static_cast<std::size_t>((data.samples() + job.micro_batch() - 1) / job.micro_batch());
  const Seconds predicted_seconds = predict(nodes, plan, placement, job, micro_batches);
  MG_TRY(const Baseline baseline, run_baseline(context, nodes, reports, timeout, data));
  MG_TRY(const StreamResult streamed, stream_through(job, context, nodes, reports, data, plan, placement));
  report(reports, job, data, baseline, plan, streamed, predicted_seconds);
  return {};
}

}  // namespace

Status run_leader(const InferJob& job, net::RoleContext& context) {
  Reports reports(context);
  Nodes nodes(context, reports, answer_timeout(job));
  const Status status = [&]() -> Status {
    MG_TRY(const Graph graph, parse_onnx(job.model()).context("model"));
    MG_RETURN_IF_ERROR(check_stages(job, graph));
    if (context.endpoint.size() < 2) {
      return make_error(Code::invalid_argument, "nodes: inference needs at least one node, got 0");
    }
    return lead(job, context, graph, nodes, reports);
  }();
  nodes.end();
  return status;
}

}  // namespace mangrove::infer

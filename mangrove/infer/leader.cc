#include "mangrove/infer/leader.h"

#include "mangrove/infer/job_settings.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {

Status lead_nodes(const InferJob& job, job::RoleContext& context,
                  const std::function<Status(NodeRoster& nodes, Reports& reports)>& lead) {
  Reports reports(context);
  NodeRoster nodes(context, reports, NetworkServer(job), job.answer_timeout_s());
  const Status status = context.endpoint.size() < 2
                            ? make_error(Code::invalid_argument, "nodes: inference needs at least one node, got 0")
                            : lead(nodes, reports);
  nodes.end();
  return status;
}

Status check_data(const InferJob& job, const Graph& graph, const Hello& data, std::int64_t classes) {
  if (data.samples() < 1) return make_error(Code::invalid_argument, "data set '" + job.data() + "' is empty");
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  const Shape sample({data.sample_shape().begin(), data.sample_shape().end()});
  return learn::check_fits(graph, sample, classes).context("data set '" + job.data() + "'");
}

}  // namespace mangrove::infer

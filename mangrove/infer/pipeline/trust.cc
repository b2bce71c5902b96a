#include "mangrove/infer/pipeline/trust.h"

#include <fmt/format.h>

#include <span>
#include <tuple>

#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/trust_key.h"

namespace mangrove::infer {

std::optional<SpotChecks> make_spot_checks(const InferJob& job, const job::RoleContext& context) {
  const std::optional<double> share = parse_trust(job.trust()).value();
  if (!share) return std::nullopt;
  SpotCheckOptions options{
      .share = *share, .rounding = changed_answers(job.activations()), .judges = context.device.computes()};
  // a simulation keeps the seed: it must be the same again
  std::ignore = context.device.fill_secret(std::as_writable_bytes(std::span(&options.seed, 1)));
  return SpotChecks(options);
}

Status check_trust(const InferJob& job, const StagePlan& plan, std::size_t nodes, bool has_known,
                   const Reports& reports) {
  if (nodes < SpotChecks::kFewest)
    return make_error(Code::failed_precondition,
                      fmt::format("trust: spot checks need {} nodes, since of two that differ nobody knows who is "
                                  "wrong; there are {}",
                                  SpotChecks::kFewest, nodes));
  const bool is_asked_for = job.stages() > 0 || job.cuts_size() > 0;
  for (std::size_t s = 0; s < plan.stages.size() && is_asked_for && !has_known; ++s) {
    const std::vector<StagePlan::Replica>& replicas = plan.stages[s].replicas;
    if (replicas.size() > 1) continue;
    return make_error(Code::failed_precondition,
                      fmt::format("trust: only {} has stage {}, and no answers are known, so that there is nothing to "
                                  "compare its answers with; leave out `stages` and `cuts`, add nodes, or set trust "
                                  "to none",
                                  reports.node(replicas.front().rank), s + 1));
  }
  return {};
}

TrustReport trust_report(const InferJob& job, const SpotChecks& checks, bool has_known, const StreamResult& streamed,
                         const Reports& reports) {
  const SpotChecks::Counts& counts = checks.counts();
  TrustReport report{.spot_checks = parse_trust(job.trust()).value().value_or(0),
                     .compared_with = has_known ? "known answers" : "copies",
                     .checks = counts.checks,
                     .copies = counts.copies,
                     .disputes = counts.disputes,
                     .open = counts.open,
                     .redone = streamed.redone,
                     .in_doubt = streamed.in_doubt,
                     .devices = {}};
  for (const SpotChecks::Record& record : checks.records())
    report.devices.push_back({reports.node(record.rank), record.checks, record.wrong, record.is_quarantined});
  return report;
}

}  // namespace mangrove::infer

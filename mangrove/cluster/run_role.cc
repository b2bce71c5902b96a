#include "mangrove/cluster/run_role.h"

#include <algorithm>
#include <exception>
#include <new>

#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/train/strategy.h"

namespace mangrove::cluster {

std::optional<JobSpec> job_of_nodes(const JobSpec& job) {
  if (!job.has_infer()) return std::nullopt;
  JobSpec other = job;
  *other.mutable_infer() = infer::without_networks(std::move(*other.mutable_infer()));
  return other;
}

double share_of(const JobSpec& job) {
  return job.share() > 0 ? std::min(job.share(), 1.0) : 1;
}

Status run_role(const JobSpec& job, job::RoleContext& context) {
  switch (job.kind_case()) {
    case JobSpec::kTrain:
      return train::run_training(job.train(), context);
    case JobSpec::kInfer:
      return infer::run_inference(job.infer(), context);
    case JobSpec::KIND_NOT_SET:
      break;
  }
  return make_error(Code::invalid_argument, "a job must be training or inference, and this one is neither");
}

Status run_role_guarded(const RoleMain& play, const JobSpec& job, job::RoleContext& context) {
  try {
    return play(job, context);
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted, "out of memory");
  } catch (const std::exception& exception) {
    return make_error(Code::internal, std::string("the strategy failed: ") + exception.what());
  }
}

}  // namespace mangrove::cluster

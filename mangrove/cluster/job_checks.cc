#include "mangrove/cluster/job_checks.h"

#include <new>

#include "mangrove/cluster/node_checks.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/job/keys.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::cluster {
namespace {

Status check_of_kind(const JobSpec& job) {
  switch (job.kind_case()) {
    case JobSpec::kTrain:
      return train::check_job(job.train());
    case JobSpec::kInfer:
      return infer::check_job(job.infer());
    case JobSpec::KIND_NOT_SET:
      break;
  }
  return make_error(Code::invalid_argument, "a job must be training or inference, and this one is neither");
}

}  // namespace

Status check_job(const JobSpec& job) {
  try {
    MG_RETURN_IF_ERROR(check_of_kind(job));
    MG_RETURN_IF_ERROR(check_labels({job.labels().begin(), job.labels().end()}));
    return job::check_keys(job);
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted, "out of memory");
  }
}

Status check_switch(const JobSpec& job, const std::string& scheduler) {
  return infer::check_switch(job.infer(), scheduler);
}

}  // namespace mangrove::cluster

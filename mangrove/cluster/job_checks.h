#pragma once

#include <functional>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cluster {

/// Whether a coordinator takes a job.
using JobCheck = std::function<Status(const JobSpec&)>;

/// Whether the keys of a job that came from elsewhere make sense: texts are UTF-8, its strategy exists, values are in
/// their ranges and fit each other. errors: those of train::check_job and infer::check_job; invalid_argument (a job of
/// neither kind); resource_exhausted (it is too large to be looked at).
Status check_job(const JobSpec& job);

/// Whether the job, which runs, can be switched to that scheduler. errors: those of infer::check_switch.
Status check_switch(const JobSpec& job, const std::string& scheduler);

}  // namespace mangrove::cluster

#include "mangrove/cli/reports/job_status.h"

#include <nlohmann/json.hpp>

namespace mangrove::cli {

nlohmann::json job_status_json(const cluster::JobStatus& job) {
  return {{"id", job.id()},         {"title", job.title()}, {"state", job.state()}, {"priority", job.priority()},
          {"starts", job.starts()}, {"epoch", job.epoch()}, {"step", job.step()},   {"message", job.message()},
          {"began", job.began()},   {"ended", job.ended()}, {"nodes", job.nodes()}};
}

}  // namespace mangrove::cli

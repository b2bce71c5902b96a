#include "mangrove/infer/keys.h"

#include "mangrove/base/table.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"
#include "mangrove/job/keys.h"
#include "mangrove/plan/tile_partitioner.h"

namespace mangrove::infer {

void add_keys(InferJob& job, Keys& keys) {
  job::add_keys(job,
                {{"strategies", row_names(strategies())},
                 {"backends", {known_backends().begin(), known_backends().end()}},
                 {"schedulers", row_names(schedulers())},
                 {"policies", row_names(fault_policies())},
                 {"tilings", row_names(plan::tile_partitioners())}},
                keys);
  Key& strategy = keys.at("strategy");
  strategy.set = [set = strategy.set](const std::string& name) -> Status {
    MG_RETURN_IF_ERROR(find_row(strategies(), name, "unknown strategy", Code::invalid_argument));
    return set(name);
  };
}

}  // namespace mangrove::infer

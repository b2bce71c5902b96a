#include "mangrove/train/keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include "mangrove/base/table.h"
#include "mangrove/job/keys.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/schedule.h"
#include "mangrove/train/aggregation/aggregation.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {

void add_keys(TrainJob& job, Keys& keys) {
  std::vector<std::string> losses;
  for (const learn::LossRow& loss : learn::losses())
    if (!loss.needs_dense) losses.emplace_back(loss.name);  // a job has labels only
  job::add_keys(job,
                {{"strategies", row_names(strategies())},
                 {"optimizers", row_names(learn::optimizers())},
                 {"schedules", row_names(learn::schedules())},
                 {"losses", losses},
                 {"aggregations", row_names(aggregations())}},
                keys);
  for (const std::string& name : keys.names()) {
    std::vector<std::string>& readers = keys.at(name).strategies;
    for (const Strategy& row : strategies())
      if (std::ranges::count(readers, row.keys_of) > 0) readers.emplace_back(row.name);
  }
  Key& strategy = keys.at("strategy");
  strategy.set = [set = strategy.set](const std::string& name) -> Status {
    MG_RETURN_IF_ERROR(find_row(strategies(), name, "unknown strategy", Code::invalid_argument));
    return set(name);
  };
}

}  // namespace mangrove::train

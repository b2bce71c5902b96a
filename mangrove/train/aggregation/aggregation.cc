#include "mangrove/train/aggregation/aggregation.h"

#include "mangrove/base/make_rows.h"
#include "mangrove/base/table.h"
#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train {
namespace {

const std::vector<AggregationRow>& table() {
  static const std::vector<AggregationRow> kRows = make_rows(rules::kAll);
  return kRows;
}

}  // namespace

std::span<const AggregationRow> aggregations() {
  return table();
}

Result<std::unique_ptr<Aggregation>> make_aggregation(std::string_view text) {
  const Call call = parse_call(text);
  MG_TRY(const AggregationRow* row, find_row(table(), call.name, "unknown rule"));
  MG_TRY(const std::vector<double> arguments, numbers_of(call, row->parameters, "'" + std::string(row->name) + "'"));
  return row->make != nullptr ? row->make(arguments) : nullptr;
}

Status aggregate(const Aggregation& rule, const Vectors& vectors, std::span<float> out) {
  const std::string count = std::to_string(vectors.count());
  if (vectors.count() < rule.least()) {
    return make_error(Code::failed_precondition,
                      "needs the updates of " + std::to_string(rule.least()) + " workers, got those of " + count);
  }
  const Vectors sound = vectors.finite();
  const std::size_t lies = rule.liars(vectors.count()), found = vectors.count() - sound.count();
  if (found > lies) {
    return make_error(Code::out_of_range, std::to_string(found) + " of " + count +
                                              " updates have NaN or infinity, more than the " + std::to_string(lies) +
                                              " that may be lies: training diverged; try a lower learning_rate");
  }
  rule.combine(sound, lies - found, out);
  return {};
}

Status aggregate_states(const Vectors& vectors, std::span<float> out) {
  return aggregate(*rules::median().make({}), vectors, out);
}

}  // namespace mangrove::train

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/call_syntax.h"
#include "mangrove/base/result.h"
#include "mangrove/train/aggregation/vectors.h"

namespace mangrove::train {

/// A rule that makes one update of those of several workers, some of which may send anything; see the table in
/// aggregation.cc. Every worker has one vote: a rule does not know numbers of samples, so nobody gets weight by
/// claiming many. A rule keeps nothing from one call to the next, so a run that is resumed goes on exactly.
/// threads: any.
class Aggregation {
 public:
  virtual ~Aggregation() = default;

  /// The fewest vectors that the rule works with.
  virtual std::size_t least() const = 0;
  /// How many of this number of vectors, which is at least least(), may be lies.
  virtual std::size_t liars(std::size_t vectors) const = 0;
  /// Makes one vector of several. vectors: without NaN and infinity. liars: how many of them may be lies, at most
  /// liars(vectors.count()). out: one float for each element of a vector.
  virtual void combine(const Vectors& vectors, std::size_t liars, std::span<float> out) const = 0;
};

/// One rule: one file in rules/, one row of the table.
struct AggregationRow {
  std::string_view name;
  std::string_view summary;  // one line, with the source paper
  std::vector<CallParameter> parameters;
  std::unique_ptr<Aggregation> (*make)(std::span<const double> arguments) = nullptr;  // null: the strategy's own mean
};

std::span<const AggregationRow> aggregations();

/// Makes the rule of a text like "trimmed_mean(2)". Parameters left out at the end have their default. Null: the mean,
/// which each strategy makes by itself. errors: not_found (an unknown rule, with the nearest known one),
/// invalid_argument (a parameter is no number or is out of range, or there is one too many; names it).
Result<std::unique_ptr<Aggregation>> make_aggregation(std::string_view text);

/// Applies the rule to these vectors. Vectors with NaN or infinity are left out, and count as lies.
/// errors: failed_precondition (fewer vectors than least()); out_of_range (more vectors have NaN or infinity than may
/// be lies: training has diverged). On an error `out` is unchanged.
Status aggregate(const Aggregation& rule, const Vectors& vectors, std::span<float> out);

/// Applies the rule `median` in the same way. All rules but the mean use it for states, such as running statistics.
Status aggregate_states(const Vectors& vectors, std::span<float> out);

}  // namespace mangrove::train

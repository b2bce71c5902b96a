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

/// How the updates of several workers become one, where some of the workers may send anything: a rule of the table in
/// aggregation.cc. Every worker has one vote: a rule does not know of samples, so nobody gets weight by claiming many.
/// It keeps nothing from one call to the next, so a run that is resumed goes on exactly.
/// threads: any.
class Aggregation {
 public:
  virtual ~Aggregation() = default;

  /// The fewest vectors that the rule makes sense of.
  virtual std::size_t least() const = 0;
  /// How many of so many vectors, at least least(), may be lies.
  virtual std::size_t liars(std::size_t vectors) const = 0;
  /// vectors: without NaN and infinity. liars: how many of them may be lies, at most liars(vectors.count()).
  /// out: as many as there are elements.
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

/// From a text like "trimmed_mean(2)"; parameters left out at the end have their default. Null: the mean, which each
/// strategy makes by itself. errors: not_found (an unknown rule, with the nearest known one), invalid_argument (a
/// parameter that is no number, out of range, or one too many; names it).
Result<std::unique_ptr<Aggregation>> make_aggregation(std::string_view text);

/// What the rule makes of these vectors. Those with NaN or infinity are left out, and count as lies.
/// errors: failed_precondition (fewer than least()); out_of_range (more have NaN or infinity than the rule bears lies:
/// training has diverged). `out` is as it was then.
Status aggregate(const Aggregation& rule, const Vectors& vectors, std::span<float> out);

/// The median of each element, by the same rules: for what has no direction, such as running statistics, under any rule
/// but the mean.
Status aggregate_states(const Vectors& vectors, std::span<float> out);

}  // namespace mangrove::train

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::infer {

/// The meaning of the outputs of a network in an ensemble.
struct Member {
  std::string name;                    // name of the graph
  std::vector<std::int32_t> class_of;  // for each output, a class of the data or kRest
};
constexpr std::int32_t kRest = -1;  // the output for all samples of other classes than the network's own

/// The outputs of a network, by the names of its classes in its metadata ("mangrove.classes", as `mangrove train`
/// writes them). A name that the data does not know is the rest. Without metadata, a network with as many outputs as
/// the data has classes has these classes.
/// errors: invalid_argument (it has no class of the data, or the numbers of outputs and names differ).
Result<Member> member_of(const Graph& graph, std::span<const std::string> classes);

/// The probability of each class for each sample, by all networks of an ensemble, and the decision. threads: one at a
/// time.
class Votes {
 public:
  enum class Rule {
    one_vs_rest,  // an output's probability is its logistic function; a class has the mean over its outputs
    averaging     // a network's probabilities are the softmax of its outputs; a class has the mean over the networks
  };
  Votes(Rule rule, std::int64_t samples, std::int32_t classes);

  /// scores: the network's outputs for all samples, [samples, outputs].
  void add(const Member& member, std::span<const float> scores);

  /// In one-vs-rest, a class claims a sample if its probability is at least one half. These are the numbers of samples
  /// that one class, no class, and several classes claimed.
  struct Claims {
    std::int64_t one = 0, none = 0, several = 0;
  };
  /// The class of each sample. One-vs-rest: the class that claims the sample. If none or several claim it, the class
  /// with the highest probability. Averaging: the class with the highest probability. The first of equal ones wins.
  /// claims: counted, unless it is null.
  std::vector<std::int32_t> decide(Claims* claims = nullptr) const;

 private:
  const Rule rule_;
  const std::int32_t classes_;
  std::vector<double> sums_;  // [samples, classes]
  std::vector<int> counts_;   // number of outputs for each class
};

}  // namespace mangrove::infer

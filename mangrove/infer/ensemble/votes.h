#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::infer {

/// What the outputs of a network of an ensemble are about.
struct Member {
  std::string name;                    // of the graph
  std::vector<std::int32_t> class_of;  // of each output: a class of the data, or kRest
};
constexpr std::int32_t kRest = -1;  // an output for everything that is none of the network's own classes

/// By the names of its classes, which its metadata have ("mangrove.classes", as `mangrove train` writes them); a name
/// that the data does not know is the rest. Without metadata: with as many outputs as the data has classes, these.
/// errors: invalid_argument (it has no class of the data; other outputs than names).
Result<Member> member_of(const Graph& graph, std::span<const std::string> classes);

/// How sure an ensemble is of each class of a sample, and which it decides for.
/// threads: one at a time.
class Votes {
 public:
  enum class Rule {
    one_vs_rest,  // an output's probability is its logistic function; a class's is the mean of those of its outputs
    averaging     // a network's probabilities are the softmax of its outputs; a class's is the mean over the networks
  };
  Votes(Rule rule, std::int64_t samples, std::int32_t classes);

  /// scores: the network's outputs for all samples, [samples, outputs].
  void add(const Member& member, std::span<const float> scores);

  /// How many classes claimed a sample, in one-vs-rest with a probability of half or more: one for so many samples,
  /// none or several for others.
  struct Claims {
    std::int64_t one = 0, none = 0, several = 0;
  };
  /// One-vs-rest: the class that claims the sample; where none or several do, the verification decides: the one with
  /// the highest probability of all classes, which with several is one of them. Averaging: the highest probability.
  /// The first of equals. claims: unless null, counted.
  std::vector<std::int32_t> decide(Claims* claims = nullptr) const;

 private:
  const Rule rule_;
  const std::int32_t classes_;
  std::vector<double> sums_;  // [samples, classes]
  std::vector<int> counts_;   // networks' outputs, of each class
};

}  // namespace mangrove::infer

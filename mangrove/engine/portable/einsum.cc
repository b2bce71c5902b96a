#include <algorithm>
#include <cstdint>
#include <vector>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/products.h"
#include "mangrove/graph/einsum_equation.h"

namespace mangrove::portable {
namespace {

using Term = EinsumEquation::Term;
using Strides = std::vector<std::int64_t>;  // by letter: elements between neighbours, 0 where the term lacks it

Strides strides_by_letter(const Term& term, std::size_t letters) {
  Strides strides(letters, 0);
  std::int64_t stride = 1;
  for (auto dimension = term.rbegin(); dimension != term.rend(); ++dimension) {
    if (dimension->size != 1) strides[dimension->letter] = stride;
    stride *= dimension->size;
  }
  return strides;
}

/// target[t] = the sum of the product of the sources over all letters that the target lacks: what Einsum is, and the
/// gradient of each of its operands, whose sources are dy and the other operands.
class Contraction {
 public:
  Contraction(const EinsumEquation& equation, const Term& target, const std::vector<Term>& sources) {
    const std::size_t letters = equation.sizes.size();
    const Strides to = strides_by_letter(target, letters);
    std::vector<Strides> from;
    from.reserve(sources.size());
    for (const Term& source : sources) from.push_back(strides_by_letter(source, letters));
    for (const EinsumEquation::Dimension& dimension : target)
      kept_.push_back(loop_over(dimension.letter, dimension.size, from));
    for (std::size_t letter = 0; letter < letters; ++letter) {
      if (to[letter] == 0 && equation.sizes[letter] != 1)
        summed_.push_back(loop_over(letter, equation.sizes[letter], from));
    }
    for (const EinsumEquation::Dimension& dimension : target) elements_ *= dimension.size;
  }

  template <class T>
  void run(int threads, const std::vector<const T*>& sources, T* target) const {
    double work = 1;
    for (const Loop& loop : summed_) work *= static_cast<double>(loop.size);
    const auto each = static_cast<std::int64_t>(std::min(work, 1e9));
    in_ranges(elements_, threads_for(elements_ * each, threads), [&](std::int64_t first, std::int64_t last) {
      std::vector<const T*> at(sources.size());
      for (std::int64_t i = first; i < last; ++i) {
        for (std::size_t k = 0; k < sources.size(); ++k) at[k] = sources[k] + offset(i, k);
        target[i] = static_cast<T>(sum(0, at));
      }
    });
  }

 private:
  struct Loop {
    std::int64_t size;
    Strides strides;  // by source
  };

  static Loop loop_over(std::size_t letter, std::int64_t size, const std::vector<Strides>& from) {
    Loop loop{size, {}};
    for (const Strides& strides : from) loop.strides.push_back(size == 1 ? 0 : strides[letter]);
    return loop;
  }

  // Where source k is at element i of the target.
  std::int64_t offset(std::int64_t i, std::size_t k) const {
    std::int64_t offset = 0;
    for (std::size_t j = kept_.size(); j-- > 0; i /= kept_[j].size) offset += i % kept_[j].size * kept_[j].strides[k];
    return offset;
  }

  // Over the loops from `depth` on.
  template <class T>
  double sum(std::size_t depth, const std::vector<const T*>& at) const {
    if (depth == summed_.size()) return product(at, 0, Strides(at.size(), 0));
    const Loop& loop = summed_[depth];
    double total = 0;
    if (depth + 1 == summed_.size() && at.size() == 2) {
      for (std::int64_t i = 0; i < loop.size; ++i)
        total += static_cast<double>(at[0][i * loop.strides[0]]) * static_cast<double>(at[1][i * loop.strides[1]]);
      return total;
    }
    if (depth + 1 == summed_.size()) {
      for (std::int64_t i = 0; i < loop.size; ++i) total += product(at, i, loop.strides);
      return total;
    }
    std::vector<const T*> moved = at;
    for (std::int64_t i = 0; i < loop.size; ++i) {
      total += sum(depth + 1, moved);
      for (std::size_t k = 0; k < moved.size(); ++k) moved[k] += loop.strides[k];
    }
    return total;
  }

  template <class T>
  static double product(const std::vector<const T*>& at, std::int64_t i, const Strides& strides) {
    double product = 1;
    for (std::size_t k = 0; k < at.size(); ++k) product *= static_cast<double>(at[k][i * strides[k]]);
    return product;
  }

  std::vector<Loop> kept_, summed_;
  std::int64_t elements_ = 1;  // of the target
};

// The sources are operands 0 to n - 1 of the step, the target is operand n.
template <class T>
Step contraction_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                      const Contraction& contraction) {
  const std::size_t sources = operands.size() - 1;
  return make_step(request, what, std::move(operands),
                   [contraction, sources, threads = request.threads](const Buffers& buffers) {
                     std::vector<const T*> from(sources);
                     for (std::size_t k = 0; k < sources; ++k) from[k] = buffers.as<const T>(k);
                     contraction.run(threads, from, buffers.as<T>(sources));
                   });
}

template <class T>
NodeKernels einsum_kernels(const KernelRequest& request, const EinsumEquation& equation) {
  const std::vector<std::string>& inputs = request.node.inputs;
  const std::string& y = request.output_names[0];
  std::vector<Operand> operands;
  operands.reserve(inputs.size() + 1);
  for (const std::string& input : inputs) operands.push_back(read_value(input));
  operands.push_back(write_value(y));
  NodeKernels kernels;
  kernels.forward.push_back(contraction_step<T>(request, "forward", std::move(operands),
                                                Contraction(equation, equation.result, equation.operands)));
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!wants_gradient(request, k)) continue;
    std::vector<Operand> read{read_gradient(y)};
    std::vector<Term> sources{equation.result};
    for (std::size_t other = 0; other < inputs.size(); ++other) {
      if (other == k) continue;
      read.push_back(read_value(inputs[other]));
      sources.push_back(equation.operands[other]);
    }
    read.push_back(write_gradient(inputs[k]));
    kernels.backward.push_back(contraction_step<T>(request, "backward " + std::to_string(k), std::move(read),
                                                   Contraction(equation, equation.operands[k], sources)));
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_einsum(const KernelRequest& request) {
  std::vector<Shape> shapes;
  for (const ValueInfo& input : request.inputs) shapes.push_back(input.shape);
  MG_TRY(const EinsumEquation equation, einsum_equation(request.node.string_or("equation", ""), shapes));
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return einsum_kernels<decltype(zero)>(request, equation); });
}

}  // namespace mangrove::portable

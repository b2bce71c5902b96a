#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/tensor/shape.h"

namespace mangrove {

/// The equation of an Einsum node resolved against the shapes of its operands: y[result] is the sum, over all letters
/// that are not in the result, of the product of the operands' elements. Each dimension of the ellipsis counts as a
/// letter; as with numpy, of an operand that has size 1 there, the one element meets all others.
struct EinsumEquation {
  /// A dimension of an operand or of the result.
  struct Dimension {
    std::size_t letter;  // index into sizes
    std::int64_t size;   // that of the letter, or 1
  };
  using Term = std::vector<Dimension>;

  std::vector<std::int64_t> sizes;  // of each letter; negative where it is symbolic
  std::vector<Term> operands;
  Term result;

  Shape output() const;
};

/// errors: invalid_argument (no equation of so many operands, operands that do not fit it), unimplemented (a letter
/// twice in one operand).
Result<EinsumEquation> einsum_equation(const std::string& equation, std::span<const Shape> operands);

}  // namespace mangrove

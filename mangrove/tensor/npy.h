#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// One array as NumPy's `save` writes it: little-endian, C order.
/// format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0
std::string encode_npy(const Tensor& tensor);

/// Versions 1.0 to 3.0; types f4, f8, i4, i8, u1, i1, b1.
/// errors: data_loss (not an npy file, truncated, header malformed, shape and data do not fit), unimplemented (another
/// type, big-endian, Fortran order). Never trusts a length: allocates no more than `bytes` has.
Result<Tensor> parse_npy(std::string_view bytes);

}  // namespace mangrove

#pragma once

#include <cstdint>

#include "mangrove/engine/simd/convolution_grids.h"
#include "mangrove/engine/simd/finish.h"

/// The three maps of a convolution [N, C, H, W] -> [N, M, H', W'] with weights [M, C / group, h, w]: by the algorithms
/// of grid_algorithm.cc, and for depthwise ones as filters of one channel each. Elements are f32, sizes in elements.
/// Results do not depend on the number of threads. threads: one call at a time for one workspace.
namespace mangrove::simd {

/// Elements of the weights in the order in which a map reads them; none for a depthwise convolution, which reads them
/// as they are.
std::int64_t elements_packed_for_convolve(const ConvolutionGrids& c);
std::int64_t elements_packed_for_transposed(const ConvolutionGrids& c);
void pack_for_convolve(const ConvolutionGrids& c, int threads, const float* w, float* packed);
void pack_for_transposed(const ConvolutionGrids& c, int threads, const float* w, float* packed);

/// Elements of scratch space that each map needs.
std::int64_t convolve_workspace(const ConvolutionGrids& c, int threads);
std::int64_t convolve_transposed_workspace(const ConvolutionGrids& c, int threads);
std::int64_t correlate_workspace(const ConvolutionGrids& c, int threads);

// `images`: how many lie at x and y.

/// y = w * x, with weights that were packed for it.
void convolve(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* w,
              const Finish& finish, float* workspace, float* y);
/// x = the transpose of that map, of y; also a convolution's gradient with respect to x. Likewise.
void convolve_transposed(const ConvolutionGrids& c, std::int64_t images, int threads, const float* y, const float* w,
                         const Finish& finish, float* workspace, float* x);
/// w += the gradient with respect to w, from x and the gradient y.
void correlate(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* y,
               float* workspace, float* w);

}  // namespace mangrove::simd

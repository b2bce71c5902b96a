#pragma once

#include <cstdint>

#include "mangrove/engine/simd/convolution_grids.h"
#include "mangrove/engine/simd/finish.h"

namespace mangrove::simd {

/// Elements of scratch space that each map needs for each thread.
std::int64_t depthwise_convolve_scratch(const ConvolutionGrids& c);
std::int64_t depthwise_transposed_scratch(const ConvolutionGrids& c);
std::int64_t depthwise_correlate_scratch(const ConvolutionGrids& c);

// These compute the maps of convolution.h for a depthwise convolution, one channel after the other. Weights are not
// packed.
void depthwise_convolve(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* w,
                        const Finish& finish, float* workspace, float* y);
void depthwise_convolve_transposed(const ConvolutionGrids& c, std::int64_t images, int threads, const float* y,
                                   const float* w, const Finish& finish, float* workspace, float* x);
void depthwise_correlate(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* y,
                         float* workspace, float* w);

}  // namespace mangrove::simd

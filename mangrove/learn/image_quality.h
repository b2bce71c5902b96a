#pragma once

#include <span>

#include "mangrove/tensor/shape.h"

namespace mangrove::learn {

// How alike two images [C, H, W] of values from 0 to 1 are. REQUIRES as many values each as the shape has.

/// Structural similarity: 1 where they are equal, near 0 (at the least -1) where they have nothing in common. The mean
/// over all places of an 11 x 11 window within the image, weighted by a Gaussian of standard deviation 1.5, and over
/// the channels; of images that are smaller the window is as large as they are.
/// source: Wang, Bovik, Sheikh & Simoncelli, Image quality assessment: from error visibility to structural similarity,
/// IEEE Transactions on Image Processing 2004, with its constants K1 = 0.01 and K2 = 0.03.
double ssim(std::span<const float> a, std::span<const float> b, const Shape& shape);

/// Peak signal-to-noise ratio in decibels, 10 log10(1 / mean squared error); at most 100, which equal images have.
double psnr(std::span<const float> a, std::span<const float> b);

}  // namespace mangrove::learn

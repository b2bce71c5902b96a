#pragma once

#include "mangrove/graph/conv_geometry.h"

/// A convolution y = x * w is linear in x and in w. These are that map and its two transposes; Conv and ConvTranspose,
/// forward and backward, are made of them. Each adds to its last argument.
/// x [N, C, H, W], w [M, C / group, h, w], y [N, M, H', W']. T is float or double.
namespace mangrove::portable {

template <class T>
void convolve(const ConvGeometry& g, const T* x, const T* w, T* y);  // y += x * w

template <class T>
void convolve_transposed(const ConvGeometry& g, const T* y, const T* w, T* x);  // x += the transpose applied to y

template <class T>
void correlate(const ConvGeometry& g, const T* x, const T* y, T* w);  // w += the gradient of w for dy = y

}  // namespace mangrove::portable

#pragma once

#include "mangrove/graph/conv_geometry.h"

/// A convolution y = x * w is linear in x and in w. These are that map and its two transposes; Conv and ConvTranspose,
/// forward and backward, are made of them. Each adds to its last argument.
/// x [N, C, H, W], w [M, C / group, h, w], y [N, M, H', W']. T is float or double.
///
/// Where a group has several output channels, a few rows of the image at a time are copied into columns, one per
/// position and with all that its window covers, and the rest is a matrix product. (Chellapilla, Puri and Simard, High
/// performance convolutional neural networks for document processing, 2006)
namespace mangrove::portable {

/// Elements of scratch space that each of the maps needs for the columns; may be 0.
std::int64_t column_elements(const ConvGeometry& g);

template <class T>
void convolve(const ConvGeometry& g, const T* x, const T* w, T* columns, T* y);  // y += x * w

template <class T>
void convolve_transposed(const ConvGeometry& g, const T* y, const T* w, T* columns, T* x);  // x += its transpose of y

template <class T>
void correlate(const ConvGeometry& g, const T* x, const T* y, T* columns, T* w);  // w += its gradient for dy = y

}  // namespace mangrove::portable

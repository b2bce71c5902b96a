#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// The elements of each part when every layer is cut, from its start, into parts of most(layer) elements. The last part
/// of a layer may be smaller. most: above 0 for layers with elements.
std::vector<std::size_t> parts_of(const Stream& stream, const std::function<std::size_t(const Layer&)>& most);

/// A codec that encodes the vector part by part, each part by itself, in a number of bytes that depends only on the
/// part's size.
class PartwiseCodec : public Codec {
 public:
  /// part_sizes: in elements, of the whole vector.
  explicit PartwiseCodec(std::vector<std::size_t> part_sizes) : part_sizes_(std::move(part_sizes)) {}

  std::string encode(std::span<const float> values) final;
  Status decode(std::string_view message, std::span<float> values) final;

 protected:
  virtual std::size_t bytes_of(std::size_t elements) const = 0;
  /// message: the bytes_of(values.size()) to write, all zero.
  virtual void encode_part(std::span<const float> values, std::span<char> message) = 0;
  /// message: bytes_of(values.size()) bytes. Returns false if encode_part() makes no such message.
  virtual bool decode_part(std::span<const char> message, std::span<float> values) = 0;

 private:
  std::size_t message_bytes() const;
  std::vector<std::size_t> part_sizes_;
};

}  // namespace mangrove::codec

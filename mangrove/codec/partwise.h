#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// How many elements each part has if every layer is cut, from its start, into parts of most(layer) elements; the last
/// of a layer may have fewer. most: above 0 for layers that have elements.
std::vector<std::size_t> parts_of(const Stream& stream, const std::function<std::size_t(const Layer&)>& most);

/// A codec that encodes one part of the vector after the other, each by itself and in as many bytes as its size says.
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
  /// message: bytes_of(values.size()). Returns false if encode_part() does not make such a one.
  virtual bool decode_part(std::span<const char> message, std::span<float> values) = 0;

 private:
  std::size_t message_bytes() const;
  std::vector<std::size_t> part_sizes_;
};

}  // namespace mangrove::codec

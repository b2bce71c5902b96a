#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/call_syntax.h"
#include "mangrove/base/result.h"
#include "mangrove/codec/reducible.h"

namespace mangrove::codec {

/// One tensor of the vector of floats that a codec encodes. For example, the gradient of a convolution's weights is a
/// matrix of [outputs, inputs · height · width], and a bias is one row. Some codecs scale each layer by itself, or
/// treat a layer as a matrix.
struct Layer {
  std::int64_t rows = 0, columns = 0;
  std::int64_t elements() const { return rows * columns; }
};

/// What a codec is made for: a vector that is encoded again and again, on one side of one link.
struct Stream {
  std::vector<Layer> layers;  // all layers, in the vector's order
  std::uint64_t seed = 0;     // for random choices: the same on both sides, but not for two senders
  std::int64_t elements() const;
};

/// Encodes a vector of floats (gradients, updates, parameters) in fewer bytes, usually not exactly. A sender and a
/// receiver each have their own codec, made from the same text. A codec need not keep NaN and infinity, but it must not
/// crash on them. threads: one at a time.
class Codec {
 public:
  virtual ~Codec() = default;

  /// values: as many as the stream has elements. The result has no length or checksum of its own.
  virtual std::string encode(std::span<const float> values) = 0;

  /// Writes all of `values`, as many as the stream has elements. Never trusts the message. The result depends on the
  /// message and the stream alone, never on earlier calls: a receiver may miss messages, and a sender may decode its
  /// own messages to know what arrives. errors: data_loss (encode() does not make such a message: it is too short or
  /// too long, or an index or level is out of range); then `values` are unspecified.
  virtual Status decode(std::string_view message, std::span<float> values) = 0;

  /// For codecs with a fraction or density: the fraction of the elements, in (0, 1], that messages keep from now on.
  /// Others ignore it. A receiver need not know it.
  virtual void set_fraction(double fraction) { static_cast<void>(fraction); }

  /// For a sender: the loss that belongs to the values which are encoded next. Codecs use it that choose by whether the
  /// loss fell; others ignore it. A receiver need not know it.
  virtual void told_loss(double loss) { static_cast<void>(loss); }
};

/// The first check of a decode() that knows the size of its messages. errors: data_loss.
Status check_size(std::string_view message, std::size_t expected);

/// A number between the parentheses of a codec's text.
using Parameter = CallParameter;

/// A row of the table in codec.cc: one kind of codec. Each has its file in codecs/.
struct CodecRow {
  std::string_view name;
  std::string_view summary;  // one line, with the source paper
  std::vector<Parameter> parameters;
  /// The mean of the decoded values, over the codec's random choices, is what was encoded. Codecs without this trait
  /// that change values much need error feedback to train well.
  bool is_unbiased = false;
  bool keeps_residual = false;  // the codec itself sends left-out values later, so it needs no error feedback
  bool has_momentum = false;    // the codec applies momentum, so the optimizer must have none
  bool is_sparse = false;       // most elements are sent as zero, so momentum correction helps
  /// It sends some elements, as they are and not scaled, and which ones does not depend on their values. So senders can
  /// draw the same ones, and what they send adds up. It has the parameter "fraction".
  bool can_share_mask = false;
  /// The decoded values are nearer to the encoded ones than zero is. So a difference that is sent again and again
  /// vanishes. Codecs that are only right on average do not have this trait.
  bool is_contraction = false;
  std::unique_ptr<Codec> (*make)(std::span<const double> arguments, const Stream& stream);
  /// For a linear codec: makes the codec for sums over several senders, see reducible.h. Null for others.
  std::unique_ptr<ReducibleCodec> (*make_reducible)(std::span<const double> arguments, const Stream& stream) = nullptr;
};

std::span<const CodecRow> codecs();

/// Makes a codec from a text like "top_k(0.01)" or "none". Parameters that are left out at the end have their defaults.
/// errors: not_found (unknown codec; names the nearest known one), invalid_argument (a parameter that is not a number
/// or out of range, or one too many; names it).
Result<std::unique_ptr<Codec>> make_codec(std::string_view text, const Stream& stream);
/// Makes one sender's side of a sum over several senders. Null for a codec that is not linear. errors: those of
/// make_codec.
Result<std::unique_ptr<ReducibleCodec>> make_reducible(std::string_view text, const Stream& stream);
/// Checks the text and returns the codec's row. errors: those of make_codec.
Result<const CodecRow*> find_codec(std::string_view text);
/// The value of the parameter `name` in a valid text. Nothing: the codec has no such parameter.
std::optional<double> parameter_of(std::string_view text, std::string_view name);

}  // namespace mangrove::codec

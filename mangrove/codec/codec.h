#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/codec/reducible.h"

namespace mangrove::codec {

/// One tensor of those that a vector of floats consists of, e.g. the gradient of a convolution's weights as a matrix of
/// [outputs, inputs · height · width]; a bias is one row. Some codecs scale by layer, or take a layer as a matrix.
struct Layer {
  std::int64_t rows = 0, columns = 0;
  std::int64_t elements() const { return rows * columns; }
};

/// What a codec is made for: one vector that is encoded again and again, on one side of one link.
struct Stream {
  std::vector<Layer> layers;  // in the vector's order, all of it
  std::uint64_t seed = 0;     // of random choices; the same on both sides, another for each sender: errors average out
  std::int64_t elements() const;
};

/// Makes fewer bytes of a vector of floats (gradients, updates, parameters), mostly not exactly. A sender and a
/// receiver each have their own, made from the same text. NaN and infinity are numbers like others: a codec need not
/// keep them, but must not crash on them. threads: one at a time.
class Codec {
 public:
  virtual ~Codec() = default;

  /// values: as many as the stream has elements. The result has no length or checksum of its own.
  virtual std::string encode(std::span<const float> values) = 0;

  /// Writes all of `values`, as many as the stream has elements. Never trusts the message. Goes by the message and the
  /// stream alone, never by what was encoded or decoded before: a receiver may miss messages, and a sender may decode
  /// its own to know what arrives. errors: data_loss (a message that encode() does not make: too short, too long, an
  /// index or a level out of range); `values` are anything then.
  virtual Status decode(std::string_view message, std::span<float> values) = 0;

  /// Which fraction of the elements, in (0, 1], the messages from now on keep, of a codec that has a fraction or
  /// density; others have no use for it. A receiver need not know.
  virtual void set_fraction(double fraction) { static_cast<void>(fraction); }

  /// Of a sender: the loss that the values to be encoded next belong to, before they are encoded. For codecs that
  /// choose by whether it fell; others have no use for it. A receiver need not know.
  virtual void told_loss(double loss) { static_cast<void>(loss); }
};

/// What a decode() says first where the size of a message is known. errors: data_loss.
Status check_size(std::string_view message, std::size_t expected);

/// A number between the parentheses of a codec's text.
struct Parameter {
  std::string_view name;
  double fallback = 0;
  double least = 0, most = 0;
  bool is_whole = false;
};

/// One kind of codec: one file in codecs/, one row of the table in codec.cc.
struct CodecRow {
  std::string_view name;
  std::string_view summary;  // one line, with the source paper
  std::vector<Parameter> parameters;
  /// The mean of what is decoded is what was encoded, over the codec's random choices. Others that change values much
  /// need error feedback to train well.
  bool is_unbiased = false;
  bool keeps_residual = false;  // what was not sent is kept and sent later: no error feedback around this one
  bool has_momentum = false;    // the optimizer must have none
  bool is_sparse = false;       // most elements are sent as zero: momentum correction helps
  /// What is decoded is nearer to what was encoded than zero is, so that differences that are sent again and again come
  /// to nothing. Not so for codecs that are right on average only.
  bool is_contraction = false;
  std::unique_ptr<Codec> (*make)(std::span<const double> arguments, const Stream& stream);
  /// Of a linear codec: sums over several senders, see reducible.h. Else null.
  std::unique_ptr<ReducibleCodec> (*make_reducible)(std::span<const double> arguments, const Stream& stream) = nullptr;
};

std::span<const CodecRow> codecs();

/// From a text like "top_k(0.01)" or "none"; parameters left out at the end have their default.
/// errors: not_found (unknown codec, with the nearest known one), invalid_argument (a parameter that is no number, out
/// of range, or one too many; names it).
Result<std::unique_ptr<Codec>> make_codec(std::string_view text, const Stream& stream);
/// A sender's side of a sum over several senders; nothing for a codec that is not linear. errors: those of make_codec.
Result<std::unique_ptr<ReducibleCodec>> make_reducible(std::string_view text, const Stream& stream);
/// Checks the text alone. errors: those of make_codec.
Result<const CodecRow*> find_codec(std::string_view text);
/// Of a valid text: the value of its parameter `name`; nothing where the codec has no such parameter.
std::optional<double> parameter_of(std::string_view text, std::string_view name);

}  // namespace mangrove::codec

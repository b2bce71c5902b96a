#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"

namespace mangrove::compress {

/// The ending of a coded file's name.
constexpr std::string_view kCodedEnding = ".mgz";

/// One parameter in a coded file.
struct CodedParameter {
  std::string name;
  std::int64_t elements = 0;
  std::int64_t kept = 0;    // other than zero
  std::int64_t values = 0;  // of its codebook; 0: it has none
  Bytes bytes = 0;          // coded
};

struct CodedModel {
  std::string bytes;  // of the file
  std::vector<CodedParameter> parameters;
};

/// A network as a file whose parameters are coded (see encode_weights): 4 bytes "MGZ1"; the lengths of the outline, of
/// the list of messages and of each message (u32, little-endian); the outline, gzipped (see encode_onnx_outline; where
/// a parameter is, is the number of its message); the messages; the CRC-32 of all before it. What is no parameter is in
/// the outline.
/// errors: out_of_range (more than 2 GiB of weights), unimplemented (parameters of f64).
Result<CodedModel> encode_model(const Graph& graph);

/// Whether a file that begins like this is a coded one.
bool is_coded_model(std::string_view beginning);

/// The network, bit for bit. Never trusts a length: the outline may have up to 64 MiB, and a parameter takes memory
/// only where its message is long enough for it (see decode_weights).
/// errors: data_loss (not a coded model, truncated, corrupt), those of parse_onnx_outline.
Result<Graph> parse_model(std::string_view bytes);
/// Reads a file without its checksum, so that tests reach what the checksum would refuse. errors: those of
/// parse_model().
Result<Graph> parse_model_content(std::string_view content);

}  // namespace mangrove::compress

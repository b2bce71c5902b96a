#include "mangrove/codec/codec.h"

#include <numeric>

#include "mangrove/base/make_rows.h"
#include "mangrove/base/table.h"
#include "mangrove/codec/codecs/rows.h"

namespace mangrove::codec {
namespace {

const std::vector<CodecRow>& table() {
  static const std::vector<CodecRow> kRows = make_rows(rows::kAll);
  return kRows;
}

Result<std::vector<double>> arguments_of(const CodecRow& row, const Call& call) {
  return numbers_of(call, row.parameters, "codec '" + std::string(row.name) + "'");
}

Result<const CodecRow*> row_of(std::string_view name) {
  return find_row(table(), name, "unknown codec");
}

}  // namespace

std::int64_t Stream::elements() const {
  return std::accumulate(layers.begin(), layers.end(), std::int64_t{0},
                         [](std::int64_t sum, const Layer& layer) { return sum + layer.elements(); });
}

Status check_size(std::string_view message, std::size_t expected) {
  if (message.size() == expected) return {};
  return make_error(Code::data_loss, "an encoded vector has " + std::to_string(message.size()) + " bytes, expected " +
                                         std::to_string(expected));
}

std::span<const CodecRow> codecs() {
  return table();
}

Result<const CodecRow*> find_codec(std::string_view text) {
  const Call parts = parse_call(text);
  MG_TRY(const CodecRow* row, row_of(parts.name));
  MG_RETURN_IF_ERROR(arguments_of(*row, parts));
  return row;
}

std::optional<double> parameter_of(std::string_view text, std::string_view name) {
  const Call parts = parse_call(text);
  const Result<const CodecRow*> row = row_of(parts.name);
  if (!row.ok()) return std::nullopt;
  const Result<std::vector<double>> arguments = arguments_of(**row, parts);
  for (std::size_t i = 0; arguments.ok() && i < arguments->size(); ++i) {
    if ((*row)->parameters[i].name == name) return (*arguments)[i];
  }
  return std::nullopt;
}

Result<std::unique_ptr<Codec>> make_codec(std::string_view text, const Stream& stream) {
  const Call parts = parse_call(text);
  MG_TRY(const CodecRow* row, row_of(parts.name));
  MG_TRY(const std::vector<double> arguments, arguments_of(*row, parts));
  return row->make(arguments, stream);
}

Result<std::unique_ptr<ReducibleCodec>> make_reducible(std::string_view text, const Stream& stream) {
  const Call parts = parse_call(text);
  MG_TRY(const CodecRow* row, row_of(parts.name));
  MG_TRY(const std::vector<double> arguments, arguments_of(*row, parts));
  return row->make_reducible != nullptr ? row->make_reducible(arguments, stream) : nullptr;
}

}  // namespace mangrove::codec

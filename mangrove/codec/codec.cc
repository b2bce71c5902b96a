#include "mangrove/codec/codec.h"

#include <charconv>
#include <cmath>
#include <numeric>

#include "mangrove/base/check.h"
#include "mangrove/base/table.h"
#include "mangrove/codec/codecs/rows.h"

namespace mangrove::codec {
namespace {

const std::vector<CodecRow>& table() {
  static const std::vector<CodecRow> kRows = [] {
    std::vector<CodecRow> made;
    for (const auto row : rows::kAll) made.push_back(row());
    return made;
  }();
  return kRows;
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A name, and what stands between the parentheses behind it.
struct Text {
  std::string_view name;
  std::vector<std::string_view> arguments = {};
};

Text split(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {text};
  Text parts{text.substr(0, open)};
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = inside.find(',');
    is_last = comma == std::string_view::npos;
    std::string_view argument = inside.substr(0, comma);
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    parts.arguments.push_back(argument);
    if (!is_last) inside.remove_prefix(comma + 1);
  }
  return parts;
}

std::string range_of(const Parameter& parameter) {
  std::string text = parameter.is_whole ? "a whole number" : "a number";
  char buffer[2][32];
  for (const auto& [end, value] : {std::pair{buffer[0], parameter.least}, {buffer[1], parameter.most}})
    *std::to_chars(end, end + 31, value).ptr = '\0';
  return text + " from " + buffer[0] + " to " + buffer[1];
}

Result<std::vector<double>> arguments_of(const CodecRow& row, const Text& text) {
  const std::string name(row.name);
  if (text.arguments.size() > row.parameters.size()) {
    return make_error(Code::invalid_argument, "codec '" + name + "' has " + std::to_string(row.parameters.size()) +
                                                  " parameters, got " + std::to_string(text.arguments.size()));
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    const Parameter& parameter = row.parameters[i];
    values.push_back(parameter.fallback);
    if (i >= text.arguments.size()) continue;
    const std::optional<double> given = number_in(text.arguments[i]);
    const bool fits = given && *given >= parameter.least && *given <= parameter.most &&
                      (!parameter.is_whole || *given == std::floor(*given));
    if (!fits) {
      return make_error(Code::invalid_argument, "codec '" + name + "': " + std::string(parameter.name) + " must be " +
                                                    range_of(parameter) + ", got '" + std::string(text.arguments[i]) +
                                                    "'");
    }
    values.back() = *given;
  }
  return values;
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
  const Text parts = split(text);
  MG_TRY(const CodecRow* row, row_of(parts.name));
  MG_RETURN_IF_ERROR(arguments_of(*row, parts));
  return row;
}

std::optional<double> parameter_of(std::string_view text, std::string_view name) {
  const Text parts = split(text);
  const Result<const CodecRow*> row = row_of(parts.name);
  if (!row.ok()) return std::nullopt;
  const Result<std::vector<double>> arguments = arguments_of(**row, parts);
  for (std::size_t i = 0; arguments.ok() && i < arguments->size(); ++i) {
    if ((*row)->parameters[i].name == name) return (*arguments)[i];
  }
  return std::nullopt;
}

Result<std::unique_ptr<Codec>> make_codec(std::string_view text, const Stream& stream) {
  const Text parts = split(text);
  MG_TRY(const CodecRow* row, row_of(parts.name));
  MG_TRY(const std::vector<double> arguments, arguments_of(*row, parts));
  return row->make(arguments, stream);
}

Result<std::unique_ptr<ReducibleCodec>> make_reducible(std::string_view text, const Stream& stream) {
  const Text parts = split(text);
  MG_TRY(const CodecRow* row, row_of(parts.name));
  MG_TRY(const std::vector<double> arguments, arguments_of(*row, parts));
  return row->make_reducible != nullptr ? row->make_reducible(arguments, stream) : nullptr;
}

}  // namespace mangrove::codec

#include "mangrove/zoo/variant.h"

#include <charconv>

namespace mangrove::zoo {
namespace {

template <class Number>
std::optional<Number> parse(const std::vector<std::string>& words, std::size_t word, Number low, Number high) {
  if (word >= words.size()) return std::nullopt;
  const std::string& text = words[word];
  Number number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || !(number >= low && number <= high))
    return std::nullopt;
  return number;
}

}  // namespace

Variant::Variant(std::string_view name, std::string_view stem, std::string_view pattern)
    : name_(name), pattern_(pattern) {
  std::string_view rest = name.substr(stem.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the dash
    const std::size_t end = std::min(rest.find('-'), rest.size());
    words_.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

std::optional<std::int64_t> Variant::whole(std::size_t word, std::int64_t low, std::int64_t high) const {
  return parse(words_, word, low, high);
}

std::optional<double> Variant::real(std::size_t word, double low, double high) const {
  return parse(words_, word, low, high);
}

Error Variant::mismatch() const {
  return make_error(Code::not_found, "no model is called '" + name_ + "'; names of its family are " + pattern_);
}

}  // namespace mangrove::zoo

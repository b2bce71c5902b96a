#include "mangrove/graph/einsum_equation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace mangrove {
namespace {

constexpr std::size_t kMostOperands = 64;
constexpr std::size_t kMostLetters = 52;

// "ij...k": the letters before and after the ellipsis.
struct Subscript {
  std::string before, after;
  bool has_ellipsis = false;

  std::size_t letters() const { return before.size() + after.size(); }
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Error no_equation(const std::string& equation) {
  return make_error(Code::invalid_argument,
                    "attribute equation is '" + equation + "', expected letters and '...', ',' and '->'");
}

Result<Subscript> parse_subscript(const std::string& text, const std::string& equation) {
  Subscript subscript;
  const std::size_t dots = text.find("...");
  subscript.has_ellipsis = dots != std::string::npos;
  subscript.before = text.substr(0, dots);
  if (subscript.has_ellipsis) subscript.after = text.substr(dots + 3);
  const std::string letters = subscript.before + subscript.after;
  if (letters.size() > kMostLetters || !std::ranges::all_of(letters, is_letter)) return no_equation(equation);
  if (std::set<char>(letters.begin(), letters.end()).size() != letters.size()) {
    return make_error(Code::unimplemented, "attribute equation is '" + equation + "': a letter is twice in '" + text +
                                               "', which is not supported");
  }
  return subscript;
}

struct Parsed {
  std::vector<Subscript> operands;
  std::optional<Subscript> result;
};

Result<Parsed> parse(std::string equation) {
  const std::string given = equation;
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  Parsed parsed;
  for (std::size_t comma = 0; comma != std::string::npos;) {
    comma = left.find(',');
    MG_TRY(Subscript subscript, parse_subscript(left.substr(0, comma), given));
    parsed.operands.push_back(std::move(subscript));
    if (parsed.operands.size() > kMostOperands) return no_equation(given);
    if (comma != std::string::npos) left = left.substr(comma + 1);
  }
  if (arrow != std::string::npos) {
    MG_TRY(parsed.result, parse_subscript(equation.substr(arrow + 2), given));
  }
  return parsed;
}

// Without an arrow: the ellipsis, then the letters that are in one operand only, in alphabetical order.
Subscript implicit_result(const std::vector<Subscript>& operands) {
  std::map<char, int> uses;
  Subscript result;
  for (const Subscript& operand : operands) {
    for (const char letter : operand.before + operand.after) ++uses[letter];
    result.has_ellipsis = result.has_ellipsis || operand.has_ellipsis;
  }
  for (const auto& [letter, count] : uses) {
    if (count == 1) result.after += letter;
  }
  return result;
}

class Resolver {
 public:
  Resolver(const std::string& equation, std::span<const Shape> shapes) : equation_(equation), shapes_(shapes) {}

  Result<EinsumEquation> run(const Parsed& parsed) {
    if (parsed.operands.size() != shapes_.size()) {
      return make_error(Code::invalid_argument, "attribute equation is '" + equation_ + "', which has " +
                                                    std::to_string(parsed.operands.size()) + " operands, but " +
                                                    std::to_string(shapes_.size()) + " are given");
    }
    for (std::size_t i = 0; i < shapes_.size(); ++i) MG_RETURN_IF_ERROR(check_rank(parsed.operands[i], shapes_[i]));
    for (std::size_t i = 0; i < ellipsis_; ++i) resolved_.sizes.push_back(1);
    for (std::size_t i = 0; i < shapes_.size(); ++i) MG_RETURN_IF_ERROR(add_operand(parsed.operands[i], shapes_[i]));
    const Subscript result = parsed.result ? *parsed.result : implicit_result(parsed.operands);
    MG_RETURN_IF_ERROR(add_result(result));
    return std::move(resolved_);
  }

 private:
  Error misfit(const Shape& shape, const std::string& why) const {
    return make_error(Code::invalid_argument,
                      "operand " + to_string(shape) + " does not fit attribute equation '" + equation_ + "': " + why);
  }

  Status check_rank(const Subscript& subscript, const Shape& shape) {
    const std::size_t letters = subscript.letters();
    if (shape.rank() < letters || (!subscript.has_ellipsis && shape.rank() != letters))
      return misfit(shape, "it has " + std::to_string(shape.rank()) + " dimensions");
    ellipsis_ = std::max(ellipsis_, shape.rank() - letters);
    return {};
  }

  // The dimensions of the ellipsis are the first letters; those of an operand with fewer are the last of them.
  Status add_operand(const Subscript& subscript, const Shape& shape) {
    EinsumEquation::Term term;
    const std::size_t dotted = shape.rank() - subscript.letters();
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      const bool is_before = i < subscript.before.size(),
                 is_dotted = !is_before && i < subscript.before.size() + dotted;
      std::size_t letter = 0;
      if (is_dotted) {
        letter = ellipsis_ - dotted + i - subscript.before.size();
      } else {
        const char name = is_before ? subscript.before[i] : subscript.after[i - subscript.before.size() - dotted];
        const auto [known, is_new] = letters_.try_emplace(name, resolved_.sizes.size());
        if (is_new) resolved_.sizes.push_back(shape[i]);
        letter = known->second;
      }
      MG_RETURN_IF_ERROR(meet(resolved_.sizes[letter], is_dotted, shape, i));
      term.push_back({letter, shape[i]});
    }
    resolved_.operands.push_back(std::move(term));
    return {};
  }

  // Dimension i of an operand and a letter of this size.
  Status meet(std::int64_t& size, bool is_dotted, const Shape& shape, std::size_t i) const {
    if (size == shape[i]) return {};
    if (!is_dotted || (size != 1 && shape[i] != 1)) {
      return misfit(shape, "its dimension " + std::to_string(i) + " meets one of size " + std::to_string(size));
    }
    if (size == 1) size = shape[i];
    return {};
  }

  Status add_result(const Subscript& subscript) {
    const auto add = [&](char name) -> Status {
      const auto found = letters_.find(name);
      if (found == letters_.end()) {
        return make_error(Code::invalid_argument, "attribute equation is '" + equation_ + "': no operand has '" +
                                                      std::string(1, name) + "' of the result");
      }
      resolved_.result.push_back({found->second, resolved_.sizes[found->second]});
      return {};
    };
    for (const char name : subscript.before) MG_RETURN_IF_ERROR(add(name));
    for (std::size_t i = 0; subscript.has_ellipsis && i < ellipsis_; ++i)
      resolved_.result.push_back({i, resolved_.sizes[i]});
    for (const char name : subscript.after) MG_RETURN_IF_ERROR(add(name));
    return {};
  }

  const std::string& equation_;
  std::span<const Shape> shapes_;
  std::size_t ellipsis_ = 0;  // dimensions that the longest ellipsis stands for
  std::map<char, std::size_t> letters_;
  EinsumEquation resolved_;
};

}  // namespace

Shape EinsumEquation::output() const {
  std::vector<std::int64_t> dims;
  for (const Dimension& dimension : result) dims.push_back(dimension.size);
  return Shape(std::move(dims));
}

Result<EinsumEquation> einsum_equation(const std::string& equation, std::span<const Shape> operands) {
  MG_TRY(const Parsed parsed, parse(equation));
  return Resolver(equation, operands).run(parsed);
}

}  // namespace mangrove

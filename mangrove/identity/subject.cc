#include "mangrove/identity/subject.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "mangrove/base/suggestion.h"

namespace mangrove::identity {
namespace {

constexpr std::string_view kScheme = "mangrove://";
constexpr std::size_t kLongestName = 63;  // as for host names
constexpr std::array kRoles = {Role::coordinator, Role::node, Role::admin, Role::client, Role::viewer};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

const char* role_name(Role role) {
  switch (role) {
    case Role::coordinator:
      return "coordinator";
    case Role::node:
      return "node";
    case Role::admin:
      return "admin";
    case Role::client:
      return "client";
    case Role::viewer:
      return "viewer";
  }
  return "unknown";
}

Result<Role> parse_role(std::string_view text) {
  std::vector<std::string> names;
  for (const Role role : kRoles) {
    if (text == role_name(role)) return role;
    names.emplace_back(role_name(role));
  }
  return make_error(Code::invalid_argument, "no role '" + std::string(text) + "'" + suggestion(text, names));
}

std::string Subject::uri() const {
  return std::string(kScheme) + role_name(role) + "/" + name;
}

Result<Subject> parse_subject(std::string_view uri) {
  const std::string where = "'" + std::string(uri) + "'";
  if (!uri.starts_with(kScheme)) return make_error(Code::invalid_argument, where + ": expected mangrove://ROLE/NAME");
  uri.remove_prefix(kScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos)
    return make_error(Code::invalid_argument, where + ": expected mangrove://ROLE/NAME");
  MG_TRY(const Role role, parse_role(uri.substr(0, slash)).context(where));
  MG_RETURN_IF_ERROR(check_name(uri.substr(slash + 1)).context(where));
  return Subject{role, std::string(uri.substr(slash + 1))};
}

Status check_name(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= kLongestName && is_letter_or_digit(name.front()) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
  if (fits) return {};
  return make_error(Code::invalid_argument,
                    "a name has 1 to 63 letters, digits, '.', '_' and '-', and begins with a letter or a digit");
}

}  // namespace mangrove::identity

#include "mangrove/serve/protocol/access.h"

#include <algorithm>
#include <cctype>

#include "mangrove/identity/digest.h"
#include "mangrove/identity/secret_file.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kShortestToken = 16, kLongestToken = 256;
constexpr std::string_view kScheme = "bearer ";

Error denied(const std::string& why) {
  return make_error(Code::permission_denied, why);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

bool is_token(std::string_view text) {
  return text.size() >= kShortestToken && text.size() <= kLongestToken &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

Error wrong_line(std::size_t number) {
  return make_error(Code::invalid_argument, "line " + std::to_string(number) +
                                                ": expected 'user TOKEN' or 'admin TOKEN', with a token of " +
                                                std::to_string(kShortestToken) + " to " +
                                                std::to_string(kLongestToken) + " printable characters without blanks");
}

bool may(identity::Role role, Right right) {
  using identity::Role;
  return role == Role::admin || (role == Role::client && right != Right::manage) ||
         (role == Role::viewer && right == Right::look);
}

/// The token in "Bearer TOKEN"; "": there is none.
std::string_view bearer_token(std::string_view authorization) {
  const bool is_bearer = authorization.size() > kScheme.size() &&
                         std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, [](char a, char b) {
                           return std::tolower(static_cast<unsigned char>(a)) == b;
                         });
  return is_bearer ? trimmed(authorization.substr(kScheme.size())) : std::string_view();
}

}  // namespace

Result<Tokens> Tokens::parse(std::string_view text) {
  Tokens tokens;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view kind = line.substr(0, blank), token = trimmed(line.substr(blank));
    if ((kind != "user" && kind != "admin") || !is_token(token)) return wrong_line(number);
    tokens.rows_.push_back({.is_admin = kind == "admin", .hash = identity::sha256(token)});
  }
  if (tokens.rows_.empty()) return make_error(Code::invalid_argument, "it has no token");
  return tokens;
}

Result<Tokens> Tokens::load(const fs::path& file) {
  MG_TRY(const std::string text, identity::read_secret_file(file));
  return parse(text).context(file.string());
}

std::optional<bool> Tokens::is_admin(std::string_view token) const {
  const std::string hash = identity::sha256(token);
  std::optional<bool> found;
  for (const Row& row : rows_)
    if (identity::is_same_secret(row.hash, hash)) found = found.value_or(false) || row.is_admin;
  return found;
}

Status AccessRules::admit_token(Right right, std::string_view authorization) const {
  const std::string_view token = bearer_token(authorization);
  if (token.empty())
    return denied(tokens_ ? "a token is needed: the header Authorization with Bearer TOKEN"
                          : "a certificate of the cluster is needed");
  const std::optional<bool> is_admin = tokens_ ? tokens_->is_admin(token) : std::nullopt;
  if (!is_admin) return denied("this token is not known");
  if (right == Right::manage && !*is_admin) return denied("loading and unloading models takes an admin's token");
  return {};
}

Status AccessRules::admit(Right right, const Shown& shown) const {
  if (right == Right::none) return {};
  if (!asks()) {
    if (right != Right::manage) return {};
    return denied(
        "loading and unloading models takes an admin's token or certificate, and this server has neither: "
        "start it with --token-file or --identity");
  }
  if (shown.member && may(shown.member->role, right)) return {};
  if (!shown.member || !shown.authorization.empty()) return admit_token(right, shown.authorization);
  return denied(std::string("a ") + identity::role_name(shown.member->role) + " may not do this");
}

}  // namespace mangrove::serve

#include "mangrove/serve/http/tokens.h"

#include <algorithm>
#include <cctype>

#include "mangrove/identity/digest.h"
#include "mangrove/identity/secret_file.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kShortestToken = 16, kLongestToken = 256;
constexpr std::string_view kScheme = "bearer ";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

bool is_token(std::string_view text) {
  return text.size() >= kShortestToken && text.size() <= kLongestToken &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

/// Takes the first line out of the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Error wrong_line(std::size_t number, Tokens::Holders holders) {
  std::string forms;
  for (const char* holder : holders) forms += std::string(forms.empty() ? "'" : "' or '") + holder + " TOKEN";
  return make_error(Code::invalid_argument, "line " + std::to_string(number) + ": expected " + forms +
                                                "', with a token of " + std::to_string(kShortestToken) + " to " +
                                                std::to_string(kLongestToken) + " printable characters without blanks");
}

}  // namespace

Result<Tokens> Tokens::parse(std::string_view text, Holders holders) {
  Tokens tokens(holders);
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view token = trimmed(line.substr(blank));
    const auto holder =
        std::ranges::find(holders, line.substr(0, blank), [](const char* one) { return std::string_view(one); });
    if (holder == holders.end() || !is_token(token)) return wrong_line(number, holders);
    tokens.rows_.push_back(
        {.holder = static_cast<std::size_t>(holder - holders.begin()), .hash = identity::sha256(token)});
  }
  if (tokens.rows_.empty()) return make_error(Code::invalid_argument, "it has no token");
  return tokens;
}

Result<Tokens> Tokens::load(const fs::path& file, Holders holders) {
  MG_TRY(const std::string text, identity::read_secret_file(file));
  return parse(text, holders).context(file.string());
}

std::optional<std::string_view> Tokens::holder(std::string_view token) const {
  const std::string hash = identity::sha256(token);
  std::optional<std::size_t> found;
  for (const Row& row : rows_)
    if (identity::is_same_secret(row.hash, hash)) found = std::max(found.value_or(0), row.holder);
  return found ? std::optional<std::string_view>(holders_[*found]) : std::nullopt;
}

Result<std::string> load_own_token(const fs::path& file, Tokens::Holders holders) {
  MG_TRY(const std::string content, identity::read_secret_file(file));
  std::string best;
  std::size_t best_rank = 0;
  for (std::string_view text = content; !text.empty();) {
    const std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = line.find_first_of(" \t");
    const auto holder =
        std::ranges::find(holders, line.substr(0, blank), [](const char* one) { return std::string_view(one); });
    const bool has_holder = blank != std::string_view::npos && holder != holders.end();
    const std::string_view token = has_holder ? trimmed(line.substr(blank)) : line;
    const std::size_t rank = has_holder ? static_cast<std::size_t>(holder - holders.begin()) + 1 : 1;
    if (!is_token(token)) return make_error(Code::invalid_argument, file.string() + ": a line of it is no token");
    if (rank <= best_rank) continue;
    best = token;
    best_rank = rank;
  }
  if (best.empty()) return make_error(Code::invalid_argument, file.string() + ": it has no token");
  return best;
}

std::string_view bearer_token(std::string_view authorization) {
  const bool is_bearer = authorization.size() > kScheme.size() &&
                         std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, [](char a, char b) {
                           return std::tolower(static_cast<unsigned char>(a)) == b;
                         });
  return is_bearer ? trimmed(authorization.substr(kScheme.size())) : std::string_view();
}

}  // namespace mangrove::serve

#include "mangrove/identity/join_string.h"

#include <algorithm>

#include "mangrove/identity/digest.h"

namespace mangrove::identity {
namespace {

constexpr std::string_view kPrefix = "MG1";
constexpr std::size_t kHashDigits = 64, kIdDigits = 8, kSecretDigits = 32, kChecksumDigits = 8;

bool are_digits(std::string_view text, std::size_t count) {
  return text.size() == count && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string checksum(std::string_view text) {
  return sha256(text).substr(0, kChecksumDigits);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

JoinString JoinString::make(std::string authority_hash, std::string address) {
  return {.authority_hash = std::move(authority_hash),
          .address = std::move(address),
          .id = random_hex(kIdDigits / 2),
          .secret = random_hex(kSecretDigits / 2)};
}

std::string JoinString::to_string() const {
  const std::string text = std::string(kPrefix) + authority_hash + ":" + address + ":" + id + "." + secret;
  return text + checksum(text);
}

Result<JoinString> JoinString::parse(std::string_view given) {
  const std::string_view text = trimmed(given);
  if (!text.starts_with(kPrefix))
    return make_error(Code::invalid_argument,
                      "this is no join string: one begins with MG1, and `mangrove invite` prints it");
  const Error mistyped = make_error(
      Code::invalid_argument, "the join string was mistyped or cut short: its checksum does not fit; copy all of it");
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string_view::npos || last == first || text.size() < kChecksumDigits) return mistyped;
  const std::string_view checked = text.substr(0, text.size() - kChecksumDigits);
  if (!is_same_secret(checksum(checked), text.substr(checked.size()))) return mistyped;
  const std::string_view hash = checked.substr(kPrefix.size(), first - kPrefix.size());
  const std::string_view address = checked.substr(first + 1, last - first - 1);
  const std::string_view tail = checked.substr(last + 1);
  const bool fits = are_digits(hash, kHashDigits) && tail.size() == kIdDigits + 1 + kSecretDigits &&
                    tail[kIdDigits] == '.' && are_digits(tail.substr(0, kIdDigits), kIdDigits) &&
                    are_digits(tail.substr(kIdDigits + 1), kSecretDigits);
  if (!fits) return mistyped;
  return JoinString{.authority_hash = std::string(hash),
                    .address = std::string(address),
                    .id = std::string(tail.substr(0, kIdDigits)),
                    .secret = std::string(tail.substr(kIdDigits + 1))};
}

}  // namespace mangrove::identity

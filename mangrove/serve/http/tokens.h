#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"

namespace mangrove::serve {

/// Secrets of clients that have no certificate, each with a word that says who its holder is. Only their hashes are
/// kept.
class Tokens {
 public:
  /// The words, such as "user" and "admin", the one who may do least first.
  using Holders = std::span<const char* const>;

  /// Reads a file with a line "HOLDER TOKEN" for each token. Empty lines and those that begin with # are left out. A
  /// token has 16 to 256 printable characters without blanks. errors: those of identity::read_secret_file();
  /// invalid_argument (a line is none of these, the file has no token; names the line, and does not quote it).
  static Result<Tokens> load(const fs::path& file, Holders holders);
  static Result<Tokens> parse(std::string_view text, Holders holders);

  /// Nothing: it is none of these. All of them are compared, each in the same time. Of several, the one who may do
  /// most.
  std::optional<std::string_view> holder(std::string_view token) const;

 private:
  explicit Tokens(Holders holders) : holders_(holders) {}

  struct Row {
    std::size_t holder;
    std::string hash;
  };
  Holders holders_;
  std::vector<Row> rows_;
};

/// The token that a client shows, from a file that only its owner may read: a line with a token alone, or lines as
/// Tokens::load() takes them. Of several, that of the holder who may do most, and of these the first.
/// errors: those of identity::read_secret_file(); invalid_argument (no token; names the file, and does not quote it).
Result<std::string> load_own_token(const fs::path& file, Tokens::Holders holders);

/// The token in "Bearer TOKEN"; "": there is none.
std::string_view bearer_token(std::string_view authorization);

}  // namespace mangrove::serve

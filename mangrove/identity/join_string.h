#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::identity {

/// What somebody who is invited is given: which cluster it is, where, and a secret that lets in once.
///
///     MG1<hash of the authority>:<HOST:PORT, or nothing>:<id>.<secret><checksum>
///
/// All but the address are hexadecimal digits: 64, 8, 32, and 8 that show a typing mistake.
struct JoinString {
  std::string authority_hash;  // see Certificate::hash: a coordinator of another authority is not the one meant
  std::string address;         // of the coordinator; may be empty
  std::string id;              // of the invitation
  std::string secret;

  /// With an id and a secret that nobody can guess.
  static JoinString make(std::string authority_hash, std::string address);
  /// Spaces and ends of lines around it do not matter. errors: invalid_argument (another text, mistyped or cut short).
  /// The message does not repeat the text.
  static Result<JoinString> parse(std::string_view text);

  std::string to_string() const;
};

}  // namespace mangrove::identity

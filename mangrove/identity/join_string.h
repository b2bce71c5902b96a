#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::identity {

/// What an invited person or node gets: which cluster is meant, where it is, and a secret with which its holder may
/// join.
///
///     MG1<hash of the authority>:<HOST:PORT, or nothing>:<id>.<secret><checksum>
///
/// All but the address are hexadecimal digits: 64, 8, 32, and 8 that show a typing mistake.
struct JoinString {
  std::string authority_hash;  // of the cluster's authority, see Certificate::hash
  std::string address;         // of the coordinator; may be empty
  std::string id;              // of the invitation
  std::string secret;

  /// Makes a join string with a new id and a new secret that nobody can guess.
  static JoinString make(std::string authority_hash, std::string address);
  /// Reads a join string. Spaces and ends of lines around it do not matter. errors: invalid_argument (it is another
  /// text, or was mistyped or cut short); the message does not repeat the text, which may hold a secret.
  static Result<JoinString> parse(std::string_view text);

  std::string to_string() const;
};

}  // namespace mangrove::identity

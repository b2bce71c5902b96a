#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"

namespace mangrove::cli {

/// A network file, and what its signature says.
struct VerifiedModel {
  std::string file;
  bool is_verified = false;
  std::optional<std::string> error;  // else
  std::optional<std::string> sha256, signer, signed_at, job, owner;

  /// For people, with the end of the line.
  std::string line() const;
  static void fields(auto& self, auto& field) {
    field("file", self.file);
    field("verified", self.is_verified);
    field("error", self.error);
    field("sha256", self.sha256);
    field("signer", self.signer);
    field("signed_at", self.signed_at);
    field("job", self.job);
    field("owner", self.owner);
  }
};

/// Checks a network against the signature that lies beside it, which must be of a coordinator of one of these
/// authorities.
VerifiedModel verify_model(const std::string& file, const std::vector<identity::Certificate>& authorities);

/// The authorities in a PEM file; "": those that the user's identities trust. errors: those of files and
/// identity::parse_certificates(); failed_precondition (the user has no identity).
Result<std::vector<identity::Certificate>> trusted_authorities(const std::string& file);

}  // namespace mangrove::cli

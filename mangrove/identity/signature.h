#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/subject.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::identity {

/// The most bytes that a signature may have: with a chain of certificates it has about two thousand.
constexpr std::size_t kLongestSignature = 64 * 1024;

/// Signs a short text, such as one that names a file by its SHA-256. Returns a PEM block: signed data as in CMS (RFC
/// 5652), with the text, the time, and the certificates of the signer up to its authority. `openssl cms -verify` checks
/// it, too.
/// errors: failed_precondition (the key is of a kind that signs no CMS, such as Ed25519).
Result<std::string> sign_text(const Identity& signer, const std::string& text, WallTime now);

/// A text, and who signed it when.
struct SignedText {
  std::string text;
  Subject signer;
  WallTime time;  // as the signer says
  std::vector<Certificate> chain;

  /// Reads what sign_text() wrote, and checks that the owner of its certificate has signed it. Whose certificate is
  /// trusted is another question: see check().
  /// errors: invalid_argument (no signature, too long, changed, not of one signer, or not of a member of a cluster).
  static Result<SignedText> parse(const std::string& signature);

  /// Checks that one of the authorities has signed the signer's certificate, and that this was valid when the text was
  /// signed. Certificates live for 30 days, and what was signed with them should not be worthless afterwards. So the
  /// time of this check does not matter. errors: those of check_chain().
  Status check(const std::vector<Certificate>& authorities) const;
};

}  // namespace mangrove::identity

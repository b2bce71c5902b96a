#pragma once

#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/authority.h"
#include "mangrove/identity/certificate.h"
#include "mangrove/identity/key.h"

namespace mangrove::identity {

/// What a process needs to prove who it is, and to check who others are: its key, its certificate, and the certificates
/// of the authorities that it trusts. In a file it is one PEM text, so that all of it is replaced at once.
class Identity {
 public:
  /// Reads PEM blocks in any order: one private key, certificates of authorities (signed by themselves), the key's
  /// certificate, and those between it and its authority. An organisation's own authority may have signed it; the key's
  /// certificate then needs the URI mangrove://ROLE/NAME among its alternative names.
  /// errors: invalid_argument (something is missing, or does not belong together).
  static Result<Identity> parse(const std::string& pem);
  /// Reads an identity from a file. errors: those of parse() and read_secret_file().
  static Result<Identity> load(const fs::path& path);
  /// Makes a key and a certificate for it that the authority signs.
  static Identity make(const Authority& authority, const Subject& subject, WallTime now,
                       std::chrono::seconds lifetime = kLifetime);

  std::string pem() const;
  /// PEM. It begins with its own certificate; those that lead to an authority follow, and then the authorities. A
  /// server shows the authorities so that a newcomer can compare them with its join string.
  std::string chain_pem() const;
  std::string authorities_pem() const;

  const PrivateKey& key() const { return key_; }
  const Certificate& certificate() const { return chain_.front(); }
  /// The certificates from its own one up to, and without, an authority.
  const std::vector<Certificate>& chain() const { return chain_; }
  const std::vector<Certificate>& authorities() const { return authorities_; }
  const Subject& subject() const { return subject_; }
  bool believes(const std::string& authority_hash) const;  // see Certificate::hash

  /// Checks that its certificate is valid now, as others do. errors: those of check_chain().
  Status check(WallTime now) const;
  /// Whether it should be renewed: from a time between two thirds and three quarters of its life on. That time differs
  /// between certificates, so that those that were made together are not all renewed at once.
  bool is_due_for_renewal(WallTime now) const;

 private:
  Identity(PrivateKey key, Subject subject, std::vector<Certificate> chain, std::vector<Certificate> authorities);
  PrivateKey key_;
  Subject subject_;
  std::vector<Certificate> chain_, authorities_;
};

}  // namespace mangrove::identity

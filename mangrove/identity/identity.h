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
/// of the authorities that it believes. As a file it is one PEM text, so that all of it is replaced at once.
class Identity {
 public:
  /// From PEM blocks in any order: one private key; certificates of authorities (signed by themselves); the key's
  /// certificate, and those between it and its authority. Certificates of an organisation's own authority do as well;
  /// they need the URI mangrove://ROLE/NAME among their alternative names.
  /// errors: invalid_argument (something is missing, or does not belong together).
  static Result<Identity> parse(const std::string& pem);
  /// errors: besides, those of read_secret_file().
  static Result<Identity> load(const fs::path& path);
  /// One that the authority signs now: key and all are made here.
  static Identity make(const Authority& authority, const Subject& subject, WallTime now,
                       std::chrono::seconds lifetime = kLifetime);

  std::string pem() const;
  /// Its own certificate first, then those that lead to an authority, and the authorities, so that a newcomer can
  /// compare one with its join string.
  std::string chain_pem() const;
  std::string authorities_pem() const;

  const PrivateKey& key() const { return key_; }
  const Certificate& certificate() const { return chain_.front(); }
  const std::vector<Certificate>& authorities() const { return authorities_; }
  const Subject& subject() const { return subject_; }
  bool believes(const std::string& authority_hash) const;  // see Certificate::hash

  /// Whether others believe it now. errors: those of check_chain().
  Status check(WallTime now) const;
  /// Between two thirds and three quarters of its life, each at another time: those that were made together do not all
  /// come at once.
  bool is_due_for_renewal(WallTime now) const;

 private:
  Identity(PrivateKey key, Subject subject, std::vector<Certificate> chain, std::vector<Certificate> authorities);
  PrivateKey key_;
  Subject subject_;
  std::vector<Certificate> chain_, authorities_;
};

}  // namespace mangrove::identity

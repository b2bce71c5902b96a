#pragma once

#include <chrono>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"
#include "mangrove/identity/key.h"
#include "mangrove/identity/request.h"

namespace mangrove::identity {

/// How long a member's certificate is valid; see Identity::is_due_for_renewal().
constexpr std::chrono::seconds kLifetime = std::chrono::days(30);

/// A certificate authority: signs the certificates of the members of one cluster.
/// threads: any thread may call any method.
class Authority {
 public:
  /// Makes a new authority with a new key, valid for ten years.
  static Authority make(WallTime now);
  /// Reads what pem() wrote. errors: invalid_argument.
  static Result<Authority> parse(const std::string& pem);
  /// Reads the authority from the file. If there is no file, makes an authority and keeps it there, readable by its
  /// owner alone. errors: invalid_argument (the file holds no authority), those of read_secret_file(), check_clock()
  /// and write_private_file().
  static Result<Authority> load_or_make(const fs::path& path, WallTime now);

  /// Signs a certificate for the key of another authority. With it, a member that trusts only this authority also
  /// trusts what the other one signs. It is valid no longer than this authority.
  /// errors: failed_precondition (this authority may have no other below it).
  Result<Certificate> vouch_for(const Authority& other, WallTime now) const;

  std::string pem() const;  // its key, and its certificate
  const Certificate& certificate() const { return certificate_; }

  /// Signs a certificate which says that the owner of the request's key is `subject`. It is valid for `lifetime`, but
  /// no longer than this authority, and from ten minutes ago, since clocks differ. Coordinators and nodes may use it on
  /// both sides of a link, people only as clients.
  Certificate sign(const CertificateRequest& request, const Subject& subject, WallTime now,
                   std::chrono::seconds lifetime = kLifetime) const;

 private:
  Authority(PrivateKey key, Certificate certificate) : key_(std::move(key)), certificate_(std::move(certificate)) {}
  PrivateKey key_;
  Certificate certificate_;
};

}  // namespace mangrove::identity

#pragma once

#include <chrono>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"
#include "mangrove/identity/key.h"
#include "mangrove/identity/request.h"

namespace mangrove::identity {

/// How long a member's certificate lives; it is renewed at two thirds of that.
constexpr std::chrono::seconds kLifetime = std::chrono::days(30);

/// A certificate authority: signs who the members of one cluster are.
/// threads: any thread may call any method.
class Authority {
 public:
  /// A new one, for ten years.
  static Authority make(WallTime now);
  /// What pem() wrote. errors: invalid_argument.
  static Result<Authority> parse(const std::string& pem);
  /// From the file, or a new one that is kept there, readable by its owner alone. errors: invalid_argument (no
  /// authority), those of read_secret_file() and write_private_file().
  static Result<Authority> load_or_make(const fs::path& path, WallTime now);

  /// A certificate by this authority for another one's key: who believes this one alone believes what the other signs.
  /// It lives as long as this one at most. errors: failed_precondition (this one may have none below it).
  Result<Certificate> vouch_for(const Authority& other, WallTime now) const;

  std::string pem() const;  // its key, and its certificate
  const Certificate& certificate() const { return certificate_; }

  /// A certificate for the request's key that says that its owner is `subject`, valid for this long and a few minutes
  /// back, since clocks differ. Coordinators and nodes may use it on both sides of a link, people as clients only.
  Certificate sign(const CertificateRequest& request, const Subject& subject, WallTime now,
                   std::chrono::seconds lifetime = kLifetime) const;

 private:
  Authority(PrivateKey key, Certificate certificate) : key_(std::move(key)), certificate_(std::move(certificate)) {}
  PrivateKey key_;
  Certificate certificate_;
};

}  // namespace mangrove::identity

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/identity/subject.h"
#include "mangrove/identity/wall_time.h"

struct x509_st;

namespace mangrove::identity {

/// An X.509 certificate. Copies share it. threads: any thread may call any method.
class Certificate {
 public:
  /// Takes over an object of OpenSSL, for the sources of this module.
  explicit Certificate(x509_st* certificate);

  std::string pem() const;
  /// SHA-256 of its DER form, in hexadecimal: of a certificate authority, what a join string names.
  std::string hash() const;
  std::string serial() const;       // in hexadecimal
  std::string public_hash() const;  // of its key, see PrivateKey
  WallTime valid_from() const;
  WallTime valid_to() const;
  /// May sign others, and is signed by itself: one to be trusted as it is.
  bool is_authority() const;
  /// errors: invalid_argument (it has no URI mangrove://ROLE/NAME, or several).
  Result<Subject> subject() const;

  x509_st* handle() const { return certificate_.get(); }  // for the sources of this module

 private:
  std::shared_ptr<x509_st> certificate_;
};

/// All certificates of a PEM text, in their order; other objects in it are skipped.
/// errors: invalid_argument (none, or one that is damaged).
Result<std::vector<Certificate>> parse_certificates(const std::string& pem);

/// Whether the first of the chain speaks for its owner at this time: signed by one of the authorities, maybe over
/// others of the chain, and neither expired nor yet to come. What its owner may do is in subject().
/// errors: permission_denied; the message says what is wrong, with dates.
Status check_chain(const std::vector<Certificate>& chain, const std::vector<Certificate>& authorities, WallTime now);

}  // namespace mangrove::identity

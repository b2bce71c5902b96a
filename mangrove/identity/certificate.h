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
  /// Takes over an object of OpenSSL. For the sources of this module.
  explicit Certificate(x509_st* certificate);

  std::string pem() const;
  /// SHA-256 of its DER form, in hexadecimal. A join string names the authority by this hash.
  std::string hash() const;
  std::string serial() const;       // in hexadecimal
  std::string public_hash() const;  // of its key, see PrivateKey
  WallTime valid_from() const;
  WallTime valid_to() const;
  /// Whether it may sign other certificates and is signed by itself, like that of a certificate authority.
  bool is_authority() const;
  /// errors: invalid_argument (it has no URI mangrove://ROLE/NAME, or several).
  Result<Subject> subject() const;

  x509_st* handle() const { return certificate_.get(); }  // for the sources of this module

 private:
  std::shared_ptr<x509_st> certificate_;
};

/// Reads all certificates of a PEM text, in their order, and skips other objects.
/// errors: invalid_argument (there is none, or one is damaged).
Result<std::vector<Certificate>> parse_certificates(const std::string& pem);

/// Checks that the first certificate of the chain is valid at this time: that one of the authorities has signed it,
/// directly or over others of the chain, and that none of these has expired or is not valid yet. What the owner may do
/// is in subject(). errors: permission_denied; the message says what is wrong, with dates.
Status check_chain(const std::vector<Certificate>& chain, const std::vector<Certificate>& authorities, WallTime now);

}  // namespace mangrove::identity

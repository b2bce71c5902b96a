#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/identity/key.h"
#include "mangrove/identity/subject.h"

struct X509_req_st;

namespace mangrove::identity {

/// A request for a certificate (PKCS #10). The owner of a key makes it, and an Authority answers with a certificate.
/// The key itself never leaves its machine.
class CertificateRequest {
 public:
  /// Asks for a certificate which says that the owner of the key is `subject`.
  static CertificateRequest make(const PrivateKey& key, const Subject& subject);
  /// errors: invalid_argument (the text is no request in PEM form, the key is weak, the name is not allowed, or the
  /// maker of the request does not have the key).
  static Result<CertificateRequest> parse(const std::string& pem);

  std::string pem() const;
  const Subject& subject() const { return subject_; }
  std::string public_hash() const;  // of its key, see PrivateKey

  X509_req_st* handle() const { return request_.get(); }  // for the sources of this module

 private:
  CertificateRequest(std::shared_ptr<X509_req_st> request, Subject subject)
      : request_(std::move(request)), subject_(std::move(subject)) {}
  std::shared_ptr<X509_req_st> request_;
  Subject subject_;
};

}  // namespace mangrove::identity

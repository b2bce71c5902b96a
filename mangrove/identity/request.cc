#include "mangrove/identity/request.h"

#include <openssl/pem.h>

#include "mangrove/identity/alternative_names.h"
#include "mangrove/identity/openssl.h"

namespace mangrove::identity {
namespace {

std::shared_ptr<X509_REQ> shared(X509_REQ* request) {
  return {request, X509_REQ_free};
}

/// Adds the subject as an alternative name, as in the certificate: common names are too short for it.
Result<Subject> requested(X509_REQ* request) {
  const Owned<STACK_OF(X509_EXTENSION)> extensions(X509_REQ_get_extensions(request));
  const Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509V3_get_d2i(extensions.get(), NID_subject_alt_name, nullptr, nullptr)));
  return subject_of(names.get());
}

}  // namespace

CertificateRequest CertificateRequest::make(const PrivateKey& key, const Subject& subject) {
  std::shared_ptr<X509_REQ> request = shared(X509_REQ_new());
  const Owned<STACK_OF(X509_EXTENSION)> extensions(sk_X509_EXTENSION_new_null());
  Owned<X509_EXTENSION> name = extension(nullptr, nullptr, NID_subject_alt_name, "URI:" + subject.uri());
  MG_CHECK(name && sk_X509_EXTENSION_push(extensions.get(), name.get()) > 0);
  name.release();  // the list owns it now
  const bool made = X509_REQ_add_extensions(request.get(), extensions.get()) == 1 &&
                    X509_REQ_set_pubkey(request.get(), key.handle()) == 1 &&
                    X509_REQ_sign(request.get(), key.handle(), EVP_sha256()) > 0;
  MG_CHECK_MSG(made, "OpenSSL makes no request");
  return {std::move(request), subject};
}

Result<CertificateRequest> CertificateRequest::parse(const std::string& pem) {
  std::shared_ptr<X509_REQ> request = shared(PEM_read_bio_X509_REQ(reader(pem).get(), nullptr, nullptr, nullptr));
  if (request == nullptr) return openssl_error(Code::invalid_argument, "no certificate request in PEM form");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || !is_strong(key)) return make_error(Code::invalid_argument, "the request's key is too weak");
  if (X509_REQ_verify(request.get(), key) != 1)
    return openssl_error(Code::invalid_argument, "the request is not signed with its key");
  MG_TRY(Subject subject, requested(request.get()).context("certificate request"));
  return CertificateRequest(std::move(request), std::move(subject));
}

std::string CertificateRequest::pem() const {
  const Owned<BIO> text = writer();
  MG_CHECK_MSG(PEM_write_bio_X509_REQ(text.get(), request_.get()) == 1, "OpenSSL writes no request");
  return written(text.get());
}

std::string CertificateRequest::public_hash() const {
  return identity::public_hash(X509_REQ_get0_pubkey(request_.get()));
}

}  // namespace mangrove::identity

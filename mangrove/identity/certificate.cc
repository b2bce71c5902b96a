#include "mangrove/identity/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "mangrove/identity/alternative_names.h"
#include "mangrove/identity/digest.h"
#include "mangrove/identity/key.h"
#include "mangrove/identity/openssl.h"

namespace mangrove::identity {
namespace {

std::string why(int reason, const Certificate& certificate, WallTime now) {
  switch (reason) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate has expired on " + to_text(certificate.valid_to()) + " (it is " + to_text(now) + " here)";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate is valid from " + to_text(certificate.valid_from()) + " on, and it is " + to_text(now) +
             " here: is the clock right?";
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the certificate was changed: its signature does not fit";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "the certificate is signed by another certificate authority than this cluster's";
    default:
      return std::string("the certificate is refused: ") + X509_verify_cert_error_string(reason);
  }
}

}  // namespace

Certificate::Certificate(X509* certificate) : certificate_(certificate, X509_free) {}

std::string Certificate::pem() const {
  const Owned<BIO> text = writer();
  MG_CHECK_MSG(PEM_write_bio_X509(text.get(), certificate_.get()) == 1, "OpenSSL writes no certificate");
  return written(text.get());
}

std::string Certificate::hash() const {
  unsigned char* bytes = nullptr;
  const int length = i2d_X509(certificate_.get(), &bytes);
  MG_CHECK_MSG(length > 0, "OpenSSL writes no certificate");
  const std::string hash = sha256({reinterpret_cast<char*>(bytes), static_cast<std::size_t>(length)});
  OPENSSL_free(bytes);
  return hash;
}

std::string Certificate::serial() const {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate_.get()), nullptr);
  const Owned<BIGNUM> owned(number);
  char* digits = number == nullptr ? nullptr : BN_bn2hex(number);
  const std::string text = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  return text;
}

std::string Certificate::public_hash() const {
  EVP_PKEY* key = X509_get0_pubkey(certificate_.get());
  return key == nullptr ? std::string() : identity::public_hash(key);
}

WallTime Certificate::valid_from() const {
  return wall_time(X509_get0_notBefore(certificate_.get()));
}

WallTime Certificate::valid_to() const {
  return wall_time(X509_get0_notAfter(certificate_.get()));
}

bool Certificate::is_authority() const {
  return X509_check_ca(certificate_.get()) == 1 && X509_self_signed(certificate_.get(), 0) == 1;
}

Result<Subject> Certificate::subject() const {
  const Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate_.get(), NID_subject_alt_name, nullptr, nullptr)));
  return subject_of(names.get()).context("certificate");
}

Result<std::vector<Certificate>> parse_certificates(const std::string& pem) {
  const Owned<BIO> text = reader(pem);
  std::vector<Certificate> found;
  while (X509* next = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) found.emplace_back(next);
  // at the end of the text there is no further beginning
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!ended) return openssl_error(Code::invalid_argument, "a certificate is damaged");
  ERR_clear_error();
  if (found.empty()) return make_error(Code::invalid_argument, "no certificate in PEM form");
  return found;
}

Status check_chain(const std::vector<Certificate>& chain, const std::vector<Certificate>& authorities, WallTime now) {
  if (chain.empty()) return make_error(Code::permission_denied, "there is no certificate");
  const Owned<X509_STORE> store(X509_STORE_new());
  for (const Certificate& authority : authorities) X509_STORE_add_cert(store.get(), authority.handle());
  const Owned<STACK_OF(X509)> others(sk_X509_new_null());
  for (const Certificate& one : chain) sk_X509_push(others.get(), one.handle());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  const bool ready =
      context && X509_STORE_CTX_init(context.get(), store.get(), chain.front().handle(), others.get()) == 1;
  MG_CHECK_MSG(ready, "OpenSSL checks no certificate");
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context.get()), std::chrono::system_clock::to_time_t(now));
  const bool good = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (good) return {};
  return make_error(Code::permission_denied, why(X509_STORE_CTX_get_error(context.get()), chain.front(), now));
}

}  // namespace mangrove::identity

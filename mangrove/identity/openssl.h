#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
// cms.h declares its PEM functions where pem.h came before
// clang-format off
#include <openssl/pem.h>
#include <openssl/cms.h>
// clang-format on
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::identity {

// OpenSSL's objects, for the sources of this module: each is freed by its owner.

struct FreeOpenssl {
  void operator()(ASN1_STRING* value) const { ASN1_STRING_free(value); }  // also ASN1_INTEGER and ASN1_TIME
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(CMS_ContentInfo* cms) const { CMS_ContentInfo_free(cms); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(STACK_OF(X509) * chain) const { sk_X509_free(chain); }  // not the certificates in it
  void operator()(STACK_OF(X509_EXTENSION) * list) const { sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(X509_REQ* request) const { X509_REQ_free(request); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

/// Takes the last error of OpenSSL on this thread out of its queue: "WHAT: REASON".
Error openssl_error(Code code, const std::string& what);

/// A BIO that reads from the text, which must outlive it.
Owned<BIO> reader(const std::string& text);
Owned<BIO> writer();
/// What has been written to writer().
std::string written(BIO* bio);

/// A time that stands in a certificate or a signature. The year 1970: it is none.
WallTime wall_time(const ASN1_TIME* time);

/// Makes the extension of this kind (NID_...) from a value as in openssl.cnf. nullptr: the value is wrong.
Owned<X509_EXTENSION> extension(X509* issuer, X509* subject, int kind, const std::string& value);

}  // namespace mangrove::identity

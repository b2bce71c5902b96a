#include "mangrove/identity/authority.h"

#include <algorithm>

#include "mangrove/identity/digest.h"
#include "mangrove/identity/openssl.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/identity/signing_time.h"

namespace mangrove::identity {
namespace {

constexpr std::chrono::seconds kAuthorityLifetime = std::chrono::days(3653);
constexpr std::chrono::seconds kClockDifference = std::chrono::minutes(10);
constexpr std::size_t kSerialBytes = 16;

void set_serial(X509* certificate) {
  BIGNUM* number = nullptr;
  const bool made = BN_hex2bn(&number, ("1" + random_hex(kSerialBytes)).c_str()) > 0;  // positive, of one length
  const Owned<BIGNUM> owned(number);
  MG_CHECK_MSG(made && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr,
               "OpenSSL makes no serial number");
}

void set_validity(X509* certificate, WallTime from, WallTime to) {
  const bool set =
      ASN1_TIME_set(X509_getm_notBefore(certificate), std::chrono::system_clock::to_time_t(from)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate), std::chrono::system_clock::to_time_t(to)) != nullptr;
  MG_CHECK_MSG(set, "OpenSSL sets no time");
}

void set_name(X509_NAME* name, const std::string& text) {
  const int set = X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                             reinterpret_cast<const unsigned char*>(text.data()),
                                             static_cast<int>(text.size()), -1, 0);
  MG_CHECK_MSG(set == 1, "OpenSSL sets no name");
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  const Owned<X509_EXTENSION> made = extension(issuer, certificate, kind, value);
  MG_CHECK_MSG(made && X509_add_ext(certificate, made.get(), -1) == 1, "OpenSSL makes no extension " + value);
}

bool is_served_by(Role role) {
  return role == Role::coordinator || role == Role::node;
}

Certificate finish(Owned<X509> certificate, const PrivateKey& key) {
  MG_CHECK_MSG(X509_sign(certificate.get(), key.handle(), EVP_sha256()) > 0, "OpenSSL signs no certificate");
  return Certificate(certificate.release());
}

}  // namespace

Authority Authority::make(WallTime now) {
  PrivateKey key = PrivateKey::make();
  Owned<X509> certificate(X509_new());
  X509* self = certificate.get();
  MG_CHECK(self != nullptr && X509_set_version(self, X509_VERSION_3) == 1 && X509_set_pubkey(self, key.handle()) == 1);
  set_serial(self);
  set_validity(self, now - kClockDifference, now + kAuthorityLifetime);
  set_name(X509_get_subject_name(self), "mangrove cluster " + random_hex(4));
  MG_CHECK(X509_set_issuer_name(self, X509_get_subject_name(self)) == 1);
  extend(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:1");  // 1: its follower, see vouch_for()
  extend(self, self, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(self, self, NID_subject_key_identifier, "hash");
  Certificate own = finish(std::move(certificate), key);
  return {std::move(key), std::move(own)};
}

Result<Authority> Authority::parse(const std::string& pem) {
  MG_TRY(PrivateKey key, PrivateKey::parse(pem));
  MG_TRY(const std::vector<Certificate> certificates, parse_certificates(pem));
  if (certificates.size() != 1 || !certificates.front().is_authority() ||
      certificates.front().public_hash() != key.public_hash())
    return make_error(Code::invalid_argument, "no certificate authority: a key and its own certificate were expected");
  return Authority(std::move(key), certificates.front());
}

Result<Authority> Authority::load_or_make(const fs::path& path, WallTime now) {
  const Result<std::string> text = read_secret_file(path);
  if (text.ok()) return parse(*text).context(path.string());
  if (text.code() != Code::not_found) return text.error();
  MG_RETURN_IF_ERROR(check_clock(now));
  Authority made = make(now);
  MG_RETURN_IF_ERROR(write_private_file(path, made.pem()));
  return made;
}

Result<Certificate> Authority::vouch_for(const Authority& other, WallTime now) const {
  Owned<X509> certificate(X509_new());
  X509* made = certificate.get();
  X509* issuer = certificate_.handle();
  X509* subject = other.certificate_.handle();
  MG_CHECK(made != nullptr && X509_set_version(made, X509_VERSION_3) == 1 &&
           X509_set_pubkey(made, X509_get0_pubkey(subject)) == 1 &&
           X509_set_subject_name(made, X509_get_subject_name(subject)) == 1 &&
           X509_set_issuer_name(made, X509_get_subject_name(issuer)) == 1);
  set_serial(made);
  set_validity(made, now - kClockDifference, std::min(certificate_.valid_to(), other.certificate_.valid_to()));
  extend(made, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(made, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(made, issuer, NID_subject_key_identifier, "hash");
  extend(made, issuer, NID_authority_key_identifier, "keyid:always");
  Certificate vouched = finish(std::move(certificate), key_);
  const Subject probe{Role::node, "probe"};
  const Certificate below = other.sign(CertificateRequest::make(PrivateKey::make(), probe), probe, now);
  if (!check_chain({below, vouched}, {certificate_}, now).ok())
    return make_error(
        Code::failed_precondition,
        "this authority was made so that it can have none that follows it; a new cluster has one that can");
  return vouched;
}

std::string Authority::pem() const {
  return key_.pem() + certificate_.pem();
}

Certificate Authority::sign(const CertificateRequest& request, const Subject& subject, WallTime now,
                            std::chrono::seconds lifetime) const {
  MG_CHECK(check_name(subject.name).ok());
  Owned<X509> certificate(X509_new());
  X509* made = certificate.get();
  X509* issuer = certificate_.handle();
  MG_CHECK(made != nullptr && X509_set_version(made, X509_VERSION_3) == 1 &&
           X509_set_pubkey(made, X509_REQ_get0_pubkey(request.handle())) == 1 &&
           X509_set_issuer_name(made, X509_get_subject_name(issuer)) == 1);
  set_serial(made);
  // no longer than the authority: afterwards nobody could check it
  set_validity(made, now - kClockDifference, std::min(now + lifetime, certificate_.valid_to()));
  set_name(X509_get_subject_name(made), subject.name);
  extend(made, issuer, NID_basic_constraints, "critical,CA:FALSE");
  extend(made, issuer, NID_key_usage, "critical,digitalSignature");
  extend(made, issuer, NID_ext_key_usage, is_served_by(subject.role) ? "serverAuth,clientAuth" : "clientAuth");
  const std::string server_name = is_served_by(subject.role) ? std::string(",DNS:") + kServerName : "";
  extend(made, issuer, NID_subject_alt_name, "URI:" + subject.uri() + server_name);
  extend(made, issuer, NID_subject_key_identifier, "hash");
  extend(made, issuer, NID_authority_key_identifier, "keyid:always");
  return finish(std::move(certificate), key_);
}

}  // namespace mangrove::identity

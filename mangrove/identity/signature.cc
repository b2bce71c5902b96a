#include "mangrove/identity/signature.h"

#include <openssl/err.h>

#include "mangrove/identity/openssl.h"

namespace mangrove::identity {
namespace {

constexpr int kAsItIs = CMS_BINARY;  // ends of lines are not changed

/// Answers that there is no password. Without this callback OpenSSL would ask for one on the terminal.
int no_cms_password(char*, int, int, void*) {
  return -1;
}

/// Lets the signer's time be what is said here; OpenSSL takes that of the system otherwise.
bool set_time(CMS_SignerInfo* signer, WallTime time) {
  const Owned<ASN1_TIME> made(ASN1_TIME_set(nullptr, std::chrono::system_clock::to_time_t(time)));
  return made &&
         CMS_signed_add1_attr_by_NID(signer, NID_pkcs9_signingTime, ASN1_STRING_type(made.get()), made.get(), -1) == 1;
}

/// Null: there is none, or there are several.
const ASN1_TIME* time_of(CMS_SignerInfo* signer) {
  constexpr int kOnlyOne = -3;
  for (const int type : {V_ASN1_UTCTIME, V_ASN1_GENERALIZEDTIME})
    if (const void* time = CMS_signed_get0_data_by_OBJ(signer, OBJ_nid2obj(NID_pkcs9_signingTime), kOnlyOne, type))
      return static_cast<const ASN1_TIME*>(time);
  return nullptr;
}

bool is_sha256(CMS_SignerInfo* signer) {
  X509_ALGOR* digest = nullptr;
  CMS_SignerInfo_get0_algs(signer, nullptr, nullptr, &digest, nullptr);
  const ASN1_OBJECT* name = nullptr;
  X509_ALGOR_get0(&name, nullptr, nullptr, digest);
  return OBJ_obj2nid(name) == NID_sha256;
}

Certificate shared(X509* certificate) {
  X509_up_ref(certificate);
  return Certificate(certificate);
}

/// The signer's own comes first. REQUIRES: CMS_verify() has found the signer.
std::vector<Certificate> chain_of(CMS_ContentInfo* cms) {
  std::vector<Certificate> chain;
  const Owned<STACK_OF(X509)> signers(CMS_get0_signers(cms));
  for (int i = 0; i < sk_X509_num(signers.get()); ++i) chain.push_back(shared(sk_X509_value(signers.get(), i)));
  STACK_OF(X509)* const others = CMS_get1_certs(cms);
  for (int i = 0; i < sk_X509_num(others); ++i) chain.push_back(shared(sk_X509_value(others, i)));
  sk_X509_pop_free(others, X509_free);
  return chain;
}

Error invalid(const std::string& message) {
  ERR_clear_error();
  return make_error(Code::invalid_argument, message);
}

}  // namespace

Result<std::string> sign_text(const Identity& signer, const std::string& text, WallTime now) {
  const Owned<STACK_OF(X509)> above(sk_X509_new_null());
  for (const Certificate& one : signer.chain())
    if (one.handle() != signer.certificate().handle()) sk_X509_push(above.get(), one.handle());
  const Owned<CMS_ContentInfo> cms(CMS_sign(nullptr, nullptr, above.get(), nullptr, kAsItIs | CMS_PARTIAL));
  CMS_SignerInfo* const info = cms ? CMS_add1_signer(cms.get(), signer.certificate().handle(), signer.key().handle(),
                                                     EVP_sha256(), kAsItIs | CMS_NOSMIMECAP)
                                   : nullptr;
  const Owned<BIO> content = reader(text);
  if (info == nullptr || !set_time(info, now) || CMS_final(cms.get(), content.get(), nullptr, kAsItIs) != 1)
    return openssl_error(Code::failed_precondition,
                         "the key of " + signer.subject().uri() + " signs nothing; one on the curve P-256 does");
  const Owned<BIO> pem = writer();
  MG_CHECK_MSG(PEM_write_bio_CMS(pem.get(), cms.get()) == 1, "OpenSSL writes no signature");
  return written(pem.get());
}

Result<SignedText> SignedText::parse(const std::string& signature) {
  if (signature.size() > kLongestSignature)
    return invalid("a signature of " + std::to_string(signature.size()) + " bytes, where " +
                   std::to_string(kLongestSignature) + " are the most");
  const Owned<CMS_ContentInfo> cms(PEM_read_bio_CMS(reader(signature).get(), nullptr, no_cms_password, nullptr));
  if (!cms || OBJ_obj2nid(CMS_get0_type(cms.get())) != NID_pkcs7_signed)
    return invalid("this is no signature: signed data (CMS) in PEM form were expected");
  const STACK_OF(CMS_SignerInfo)* const infos = CMS_get0_SignerInfos(cms.get());
  if (sk_CMS_SignerInfo_num(infos) != 1) return invalid("a signature of one signer was expected");
  CMS_SignerInfo* const info = sk_CMS_SignerInfo_value(infos, 0);
  const ASN1_TIME* const time = time_of(info);
  if (time == nullptr || !is_sha256(info)) return invalid("a signature with its time, by SHA-256, was expected");
  const Owned<BIO> text = writer();
  // the signer's certificate is looked at by check(), at the time of the signature
  if (CMS_verify(cms.get(), nullptr, nullptr, nullptr, text.get(), kAsItIs | CMS_NO_SIGNER_CERT_VERIFY) != 1)
    return openssl_error(Code::invalid_argument, "the signature was changed, or is not that of its certificate");
  ERR_clear_error();
  SignedText found{.text = written(text.get()), .signer = {}, .time = wall_time(time), .chain = chain_of(cms.get())};
  MG_TRY(found.signer, found.chain.front().subject());
  return found;
}

Status SignedText::check(const std::vector<Certificate>& authorities) const {
  return check_chain(chain, authorities, time).context("the signature of " + signer.uri() + " is not trusted");
}

}  // namespace mangrove::identity

#include "mangrove/identity/identity.h"

#include <algorithm>

#include "mangrove/base/random_bits.h"
#include "mangrove/identity/secret_file.h"

namespace mangrove::identity {
namespace {

std::string pem_of(const std::vector<Certificate>& certificates) {
  std::string text;
  for (const Certificate& certificate : certificates) text += certificate.pem();
  return text;
}

}  // namespace

Identity::Identity(PrivateKey key, Subject subject, std::vector<Certificate> chain,
                   std::vector<Certificate> authorities)
    : key_(std::move(key)),
      subject_(std::move(subject)),
      chain_(std::move(chain)),
      authorities_(std::move(authorities)) {}

Result<Identity> Identity::parse(const std::string& pem) {
  MG_TRY(PrivateKey key, PrivateKey::parse(pem));
  MG_TRY(const std::vector<Certificate> all, parse_certificates(pem));
  std::vector<Certificate> chain, authorities;
  for (const Certificate& one : all) (one.is_authority() ? authorities : chain).push_back(one);
  const auto own =
      std::ranges::find_if(chain, [&](const Certificate& one) { return one.public_hash() == key.public_hash(); });
  if (own == chain.end()) return make_error(Code::invalid_argument, "no certificate of the private key");
  if (authorities.empty())
    return make_error(Code::invalid_argument, "no certificate of an authority (one that is signed by itself)");
  std::rotate(chain.begin(), own, own + 1);
  MG_TRY(Subject subject, chain.front().subject());
  return Identity(std::move(key), std::move(subject), std::move(chain), std::move(authorities));
}

Result<Identity> Identity::load(const fs::path& path) {
  MG_TRY(const std::string text, read_secret_file(path));
  return parse(text).context(path.string());
}

Identity Identity::make(const Authority& authority, const Subject& subject, WallTime now,
                        std::chrono::seconds lifetime) {
  PrivateKey key = PrivateKey::make();
  Certificate certificate = authority.sign(CertificateRequest::make(key, subject), subject, now, lifetime);
  return {std::move(key), subject, {std::move(certificate)}, {authority.certificate()}};
}

std::string Identity::pem() const {
  return key_.pem() + chain_pem();
}

std::string Identity::chain_pem() const {
  return pem_of(chain_) + authorities_pem();
}

std::string Identity::authorities_pem() const {
  return pem_of(authorities_);
}

bool Identity::believes(const std::string& authority_hash) const {
  return std::ranges::any_of(authorities_, [&](const Certificate& one) { return one.hash() == authority_hash; });
}

Status Identity::check(WallTime now) const {
  return check_chain(chain_, authorities_, now);
}

bool Identity::is_due_for_renewal(WallTime now) const {
  const std::chrono::seconds life = certificate().valid_to() - certificate().valid_from();
  const auto share = static_cast<int>(stream_of(certificate().serial()) % 1000);
  return now >= certificate().valid_from() + life * 2 / 3 + life / 12 * share / 1000;
}

}  // namespace mangrove::identity

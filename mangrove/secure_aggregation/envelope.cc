#include "mangrove/secure_aggregation/envelope.h"

#include <string>

#include "mangrove/secure_aggregation/wire.h"

namespace mangrove::secure {
namespace {

std::string purpose_of(const char* use, const Route& route) {
  return purpose(use, route.round, route.dealer, route.holder);
}

Public digest_of_share(const char* use, const Route& route, const Secret& share) {
  return digest_of(purpose_of(use, route) + std::string(text_of(share.bytes())));
}

Public digest_of_key_share(const Route& route, const Secret& share) {
  return digest_of_share("share of key", route, share);
}

Public digest_of_seed_share(const Route& route, const Secret& share) {
  return digest_of_share("share of seed", route, share);
}

/// agreed: between the pair of the envelope and that of its holder.
Secret sealing_key(const Route& route, const Secret& agreed, const Public& envelope_key, const Public& holder_key) {
  std::string use = purpose_of("envelope", route);
  use += text_of(envelope_key);
  use += text_of(holder_key);
  return derive(agreed, use);
}

Result<Shares> unseal(const Route& route, const Envelope& envelope, const Secret& key) {
  MG_TRY(const std::string text, open_seal(key, envelope.sealed(), purpose_of("envelope", route)));
  const std::string_view both = text;
  if (both.size() != 2 * kKeyBytes) return make_error(Code::data_loss, "an envelope with other contents than shares");
  Shares shares;
  MG_TRY(shares.of_key, read_secret(both.substr(0, kKeyBytes), "share"));
  MG_TRY(shares.of_seed, read_secret(both.substr(kKeyBytes), "share"));
  MG_TRY(const ShareDigests digests, read_digests(envelope));
  if (fits_key_digest(route, digests, shares.of_key) && fits_seed_digest(route, digests, shares.of_seed)) return shares;
  return make_error(Code::data_loss, "shares that do not fit their digests");
}

}  // namespace

ShareDigests digests_of(const Route& route, const Shares& shares) {
  return {digest_of_key_share(route, shares.of_key), digest_of_seed_share(route, shares.of_seed)};
}

Result<ShareDigests> read_digests(const Envelope& envelope) {
  ShareDigests digests;
  MG_TRY(digests.of_key, read_public(envelope.key_share_digest(), "digest"));
  MG_TRY(digests.of_seed, read_public(envelope.seed_share_digest(), "digest"));
  return digests;
}

bool fits_key_digest(const Route& route, const ShareDigests& digests, const Secret& share) {
  return digest_of_key_share(route, share) == digests.of_key;
}

bool fits_seed_digest(const Route& route, const ShareDigests& digests, const Secret& share) {
  return digest_of_seed_share(route, share) == digests.of_seed;
}

Envelope empty_envelope(const Route& route, const Shares& shares) {
  const ShareDigests digests = digests_of(route, shares);
  Envelope envelope;
  envelope.set_client(route.holder);
  envelope.set_key_share_digest(std::string(text_of(digests.of_key)));
  envelope.set_seed_share_digest(std::string(text_of(digests.of_seed)));
  return envelope;
}

Result<Envelope> close_envelope(const Route& route, const Shares& shares, const Public& holder_key,
                                const Secret& envelope_key) {
  MG_TRY(const Secret agreed, agree(envelope_key, holder_key));
  const Public own = public_key_of(envelope_key);
  std::string text(text_of(shares.of_key.bytes()));
  text += text_of(shares.of_seed.bytes());
  Envelope envelope = empty_envelope(route, shares);
  envelope.set_key(std::string(text_of(own)));
  envelope.set_sealed(seal(sealing_key(route, agreed, own, holder_key), text, purpose_of("envelope", route)));
  return envelope;
}

Result<Shares> open_envelope(const Route& route, const Envelope& envelope, const Secret& holder_key) {
  MG_TRY(const Public key, read_public(envelope.key(), "key"));
  MG_TRY(const Secret agreed, agree(holder_key, key));
  return unseal(route, envelope, sealing_key(route, agreed, key, public_key_of(holder_key)));
}

Result<Shares> open_shown(const Route& route, const Envelope& envelope, const Public& holder_key,
                          const Secret& envelope_key) {
  MG_TRY(const Public key, read_public(envelope.key(), "key"));
  if (public_key_of(envelope_key) != key) return make_error(Code::data_loss, "another key than the envelope's");
  MG_TRY(const Secret agreed, agree(envelope_key, holder_key));
  return unseal(route, envelope, sealing_key(route, agreed, key, holder_key));
}

}  // namespace mangrove::secure

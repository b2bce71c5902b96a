#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/secure_aggregation/messages.pb.h"
#include "mangrove/secure_aggregation/neighbours.h"
#include "mangrove/secure_aggregation/primitives.h"
#include "mangrove/secure_aggregation/secret.h"

namespace mangrove::secure {

/// Shares of a dealer's two secrets, for one holder.
struct Shares {
  Secret of_key;   // of its private mask key
  Secret of_seed;  // of the seed of its own mask
};

/// What the dealer says of these shares before anybody needs them.
struct ShareDigests {
  Public of_key, of_seed;
};

/// Whose shares an envelope has, and for whom.
struct Route {
  std::uint64_t round;
  ClientId dealer, holder;
};

ShareDigests digests_of(const Route& route, const Shares& shares);
/// errors: data_loss (a field of another length).
Result<ShareDigests> read_digests(const Envelope& envelope);
/// Whether a share is the one that the dealer's digest is of.
bool fits_key_digest(const Route& route, const ShareDigests& digests, const Secret& share);
bool fits_seed_digest(const Route& route, const ShareDigests& digests, const Secret& share);

/// The length of an envelope's contents.
constexpr std::size_t kSealedBytes = 2 * kKeyBytes + kSealBytes;

/// An envelope without contents: what a dealer says of the share that it keeps for itself.
Envelope empty_envelope(const Route& route, const Shares& shares);

/// An envelope has a key pair of its own, so that its dealer can show this one's contents to a third party, and no
/// other's. Its holder reads it with the private key of the pair whose public key it has announced. envelope_key: its
/// private key. errors: those of agree.
Result<Envelope> close_envelope(const Route& route, const Shares& shares, const Public& holder_key,
                                const Secret& envelope_key);

/// The shares in it, which fit its digests. errors: data_loss (it cannot be read, or they do not fit); those of agree.
Result<Shares> open_envelope(const Route& route, const Envelope& envelope, const Secret& holder_key);

/// Opens the envelope for a third party, with the private key of the envelope, which its dealer shows. errors: those of
/// open_envelope; data_loss (the key is that of another envelope).
Result<Shares> open_shown(const Route& route, const Envelope& envelope, const Public& holder_key,
                          const Secret& envelope_key);

}  // namespace mangrove::secure

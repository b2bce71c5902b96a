#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/secure_aggregation/envelope.h"
#include "mangrove/secure_aggregation/messages.pb.h"
#include "mangrove/secure_aggregation/neighbours.h"
#include "mangrove/secure_aggregation/secret.h"

namespace mangrove::secure {

/// A client's part in a secure sum of vectors of 32-bit words, modulo 2^32: it takes the server's orders and makes the
/// replies. Nothing is sent here, and no time passes. docs/secure-aggregation.md has the protocol.
///
/// secrecy  Whoever has all messages, and the secrets of fewer clients than the threshold says, learns of a vector only
///          what the sum says. A client gives its vector away masked, and once: then it starts no other round.
/// trust    It believes who the others are: the server names them and their keys.
/// threads  one at a time.
class Client {
 public:
  /// words: length of the vectors.
  Client(std::size_t words, RandomSource random) : words_(words), random_(std::move(random)) {}

  /// The reply to an order. vector: called when the masked vector is due; as many words as the constructor was told.
  /// errors: data_loss (an order that cannot be read or does not fit); failed_precondition (one that does not come
  /// next, or would reveal too much: too few survivors, both secrets of a client); invalid_argument (a public key of
  /// small order). The client is as before then, and has not asked for the vector.
  Result<std::string> reply(std::string_view order, const std::function<std::vector<std::uint32_t>()>& vector);

  /// Whether it has given its vector away.
  bool has_given() const { return step_ >= Step::masked; }

 private:
  enum class Step { idle, keys, dealt, accused, masked, revealed };
  struct Neighbour {
    Public mask_key;
    Public envelope_key;
  };

  Status expect(Step step) const;
  Route from(ClientId dealer) const { return {round_, dealer, id_}; }
  Route to(ClientId holder) const { return {round_, id_, holder}; }
  Secret envelope_key(ClientId holder) const;

  Result<Reply> begin(const Begin& order);
  Result<Reply> deal(const Neighbours& order);
  Result<Reply> mask(const Inbox& order, const std::function<std::vector<std::uint32_t>()>& vector);
  Result<Reply> show(const Dispute& order);
  Result<Reply> reveal(const Outcome& order);

  const std::size_t words_;
  const RandomSource random_;
  Step step_ = Step::idle;
  std::uint64_t round_ = 0;
  ClientId id_ = 0;
  Secret mask_key_, envelope_key_, seed_;  // private keys, and the seed of the mask that this client adds for itself
  Secret envelopes_;                       // the private keys of its envelopes come from it
  std::size_t threshold_ = 0;
  std::map<ClientId, Neighbour> neighbours_;
  std::size_t shown_ = 0;              // envelopes whose contents it has shown
  Shares own_;                         // of its own secrets
  std::map<ClientId, Shares> shares_;  // that it holds, by dealer: neighbours whose masks are in its vector
};

}  // namespace mangrove::secure

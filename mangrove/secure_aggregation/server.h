#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/secure_aggregation/envelope.h"
#include "mangrove/secure_aggregation/messages.pb.h"
#include "mangrove/secure_aggregation/neighbours.h"
#include "mangrove/secure_aggregation/secret.h"

namespace mangrove::secure {

/// The sum of the vectors of these clients, modulo 2^32.
struct Sum {
  std::vector<std::uint32_t> words;
  std::vector<ClientId> clients;
};

/// The server's part in one round of a secure sum: it makes the orders, takes the replies, and comes to the sum. It
/// sends nothing and knows no time: the caller carries messages, and says whom it does not wait for any longer.
///
///   while (true) {
///     MG_TRY(const auto orders, server.next());
///     if (orders.empty()) break;                       // server.sum() is there
///     ... send each; until !server.is_waiting(): server.take(from, reply) or server.lose(client)
///   }
///
/// faults   A client that is lost before the masked vectors are due is not in the sum. Of those that have dealt shares,
///          as many may be lost as choose_connections() says.
/// lies     A client that sends what it must not is left out, and liars() names it and says what it did. That costs the
///          round only where masks of that client are in the vectors of others, and its secrets cannot be made up.
/// cost     It keeps one vector, and 4 * degree keys for each client.
/// source   Bonawitz, Ivanov, Kreuter, Marcedone, McMahan, Patel, Ramage, Segal & Seth, Practical secure aggregation
///          for privacy-preserving machine learning, CCS 2017; the graph: see neighbours.h. Digests of shares, and
///          envelopes that can be shown, are ours.
/// threads  one at a time.
class Server {
 public:
  /// clients: in ascending order, each once. words: length of the vectors. errors: those of choose_connections.
  static Result<Server> create(std::uint64_t round, std::size_t words, std::vector<ClientId> clients,
                               RandomSource random);

  /// The orders of the next step, by client; none when the sum is there. REQUIRES: !is_waiting(). errors:
  /// failed_precondition (too few clients are left), aborted (a client has lied so that this round has no sum, see
  /// liars()). The round is over then.
  Result<std::map<ClientId, std::string>> next();

  bool is_waiting() const { return !waiting_.empty(); }
  bool waits_for(ClientId client) const { return waiting_.contains(client); }
  /// Whether the orders that next() has returned ask for the vectors.
  bool asks_for_vectors() const { return step_ == Step::mask; }
  /// Whether this client's vector is in the sum, or will be.
  bool has_vector_of(ClientId client) const { return masked_.contains(client); }
  /// A reply. One that does not fit makes its sender a liar. REQUIRES: waits_for(from).
  void take(ClientId from, std::string_view reply);
  /// This client will not reply.
  void lose(ClientId client) { waiting_.erase(client); }

  /// By client, what it did, as the end of a sentence that begins with its name.
  const std::map<ClientId, std::string>& liars() const { return liars_; }
  /// REQUIRES: next() has returned no orders.
  const Sum& sum() const { return sum_; }

 private:
  enum class Step { idle, keys, deal, mask, show, reveal, done };
  struct Member {
    Public mask_key{}, envelope_key{}, seed_digest{};
    std::vector<ClientId> neighbours;                      // ascending
    std::map<ClientId, Envelope> envelopes;                // by holder; until the masked vectors are there
    std::map<ClientId, ShareDigests> digests;              // by holder, itself among them
    std::vector<std::pair<std::size_t, Secret>> revealed;  // shares of the secret that is wanted, by place
  };
  using Orders = std::map<ClientId, std::string>;

  Server(std::uint64_t round, std::size_t words, std::vector<ClientId> clients, RandomSource random);

  Orders begin();
  Result<Orders> introduce();
  Result<Orders> deliver();
  Orders dispute();
  Result<Orders> ask_for_secrets();
  Status unmask();
  Status unmask_own(ClientId client);
  Status unmask_pairs(ClientId client);

  Status take_keys(ClientId from, const Keys& keys);
  Status take_dealt(ClientId from, const Dealt& dealt);
  Status take_masked(ClientId from, const Masked& masked);
  Status take_opened(ClientId from, const Opened& opened);
  Status take_revealed(ClientId from, const Revealed& revealed);
  Status take_reply(ClientId from, const Reply& reply);

  Orders send(const std::map<ClientId, Order>& orders);
  Error other_secret(ClientId client);
  void accuse(ClientId client, const std::string& deed);
  std::vector<ClientId> holders(ClientId client) const;
  std::size_t place(ClientId dealer, ClientId holder) const;
  Result<Secret> secret_of(ClientId client) const;

  std::uint64_t round_;
  std::size_t words_;
  std::vector<ClientId> clients_;
  RandomSource random_;
  Step step_ = Step::idle;
  std::size_t threshold_ = 0;
  std::map<ClientId, Member> members_;
  std::set<ClientId> announced_, dealt_, masked_;  // those whose reply to that step has come
  std::set<ClientId> waiting_;
  std::map<ClientId, std::vector<ClientId>> disputes_;  // accusers, by whom they accuse
  std::map<ClientId, std::string> liars_;
  Sum sum_;
};

}  // namespace mangrove::secure

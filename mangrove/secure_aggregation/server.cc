#include "mangrove/secure_aggregation/server.h"

#include <algorithm>
#include <iterator>

#include "mangrove/base/check.h"
#include "mangrove/secure_aggregation/mask.h"
#include "mangrove/secure_aggregation/primitives.h"
#include "mangrove/secure_aggregation/shamir.h"
#include "mangrove/secure_aggregation/wire.h"

namespace mangrove::secure {
namespace {

Error too_few(std::size_t left, std::size_t of, std::size_t needed) {
  return make_error(Code::failed_precondition, "too many drop-outs: " + std::to_string(left) + " of " +
                                                   std::to_string(of) + " clients that share secrets are left, and " +
                                                   std::to_string(needed) + " are needed");
}

std::uint64_t draw_seed(const RandomSource& random) {
  std::array<std::uint8_t, 8> bytes{};
  random(bytes);
  std::uint64_t seed = 0;
  for (const std::uint8_t byte : bytes) seed = seed << 8 | byte;
  return seed;
}

}  // namespace

Result<Server> Server::create(std::uint64_t round, std::size_t words, std::vector<ClientId> clients,
                              RandomSource random) {
  MG_CHECK(std::ranges::adjacent_find(clients, std::greater_equal<>()) == clients.end());
  MG_RETURN_IF_ERROR(choose_connections(clients.size()));
  return Server(round, words, std::move(clients), std::move(random));
}

Server::Server(std::uint64_t round, std::size_t words, std::vector<ClientId> clients, RandomSource random)
    : round_(round), words_(words), clients_(std::move(clients)), random_(std::move(random)) {}

Result<Server::Orders> Server::next() {
  MG_CHECK(!is_waiting() && step_ != Step::done);
  if (step_ == Step::mask && !disputes_.empty()) return dispute();
  switch (step_) {
    case Step::idle:
      return begin();
    case Step::keys:
      return introduce();
    case Step::deal:
      return deliver();
    case Step::mask:
    case Step::show:
      return ask_for_secrets();
    case Step::reveal:
    case Step::done:
      break;
  }
  MG_RETURN_IF_ERROR(unmask());
  step_ = Step::done;
  return Orders();
}

Server::Orders Server::send(const std::map<ClientId, Order>& orders) {
  Orders bytes;
  for (const auto& [client, order] : orders) {
    bytes[client] = order.SerializeAsString();
    waiting_.insert(client);
  }
  return bytes;
}

Server::Orders Server::begin() {
  step_ = Step::keys;
  std::map<ClientId, Order> orders;
  for (const ClientId client : clients_) {
    Begin& order = *orders[client].mutable_begin();
    order.set_round(round_);
    order.set_client(client);
  }
  return send(orders);
}

Result<Server::Orders> Server::introduce() {
  step_ = Step::deal;
  const std::vector<ClientId> announced(announced_.begin(), announced_.end());
  if (announced.size() < kFewestClients) return too_few(announced.size(), clients_.size(), kFewestClients);
  MG_TRY(const Connections connections, choose_connections(announced.size()));
  threshold_ = connections.threshold;
  Random random(draw_seed(random_));
  std::map<ClientId, Order> orders;
  for (auto& [client, neighbours] : draw_neighbours(announced, connections.degree, random)) {
    Neighbours& order = *orders[client].mutable_neighbours();
    order.set_threshold(static_cast<std::uint32_t>(threshold_));
    for (const ClientId other : neighbours) {
      secure::Neighbour& neighbour = *order.add_neighbours();
      neighbour.set_client(other);
      neighbour.set_mask_key(std::string(text_of(members_.at(other).mask_key)));
      neighbour.set_envelope_key(std::string(text_of(members_.at(other).envelope_key)));
    }
    members_.at(client).neighbours = std::move(neighbours);
  }
  return send(orders);
}

Result<Server::Orders> Server::deliver() {
  step_ = Step::mask;
  if (dealt_.size() < threshold_) return too_few(dealt_.size(), announced_.size(), threshold_);
  std::map<ClientId, Order> orders;
  for (const ClientId client : dealt_) {
    Inbox& inbox = *orders[client].mutable_inbox();
    for (const ClientId dealer : members_.at(client).neighbours) {
      if (!dealt_.contains(dealer)) continue;
      Envelope& envelope = *inbox.add_envelopes();
      envelope = members_.at(dealer).envelopes.at(client);
      envelope.set_client(dealer);
    }
    const auto holders_left = static_cast<std::size_t>(inbox.envelopes_size()) + 1;
    if (holders_left < threshold_) return too_few(holders_left, holders(client).size(), threshold_);
  }
  return send(orders);
}

Server::Orders Server::dispute() {
  step_ = Step::show;
  std::map<ClientId, Order> orders;
  for (auto& [accused, accusers] : disputes_) {
    std::ranges::sort(accusers);
    accusers.resize(std::min(accusers.size(), most_shown(holders(accused).size(), threshold_)));
    orders[accused].mutable_dispute()->mutable_accusers()->Add(accusers.begin(), accusers.end());
  }
  return send(orders);
}

Result<Server::Orders> Server::ask_for_secrets() {
  step_ = Step::reveal;
  for (auto& [unused, member] : members_) member.envelopes.clear();
  for (const ClientId client : masked_) {
    if (liars_.contains(client))
      return make_error(Code::aborted, "the vector of a client that has lied is in the sum already");
  }
  std::map<ClientId, Order> orders;
  for (const ClientId client : dealt_) {
    const std::vector<ClientId> all = holders(client);
    const auto left =
        static_cast<std::size_t>(std::ranges::count_if(all, [&](ClientId holder) { return masked_.contains(holder); }));
    if (left < threshold_) return too_few(left, all.size(), threshold_);
    if (!has_vector_of(client)) continue;
    Outcome& outcome = *orders[client].mutable_outcome();
    for (const ClientId other : members_.at(client).neighbours) {
      if (has_vector_of(other)) {
        outcome.add_survivors(other);
      } else if (dealt_.contains(other)) {
        outcome.add_dropped(other);
      }
    }
  }
  return send(orders);
}

/// Whoever lies about a secret is named, all of them, before the round ends.
Status Server::unmask() {
  Status lied;
  for (const ClientId client : dealt_) {
    Status status = has_vector_of(client) ? unmask_own(client) : unmask_pairs(client);
    if (!status.ok() && status.code() != Code::aborted) return status;
    if (!status.ok()) lied = std::move(status);
  }
  if (!lied.ok()) return lied;
  sum_.clients.assign(masked_.begin(), masked_.end());
  return {};
}

Result<Secret> Server::secret_of(ClientId client) const {
  const auto& shares = members_.at(client).revealed;
  if (shares.size() < threshold_) return too_few(shares.size(), holders(client).size(), threshold_);
  return combine(std::span(shares).first(threshold_));
}

Error Server::other_secret(ClientId client) {
  accuse(client, "dealt out shares of another secret than it announced");
  return make_error(Code::aborted, "a secret that was dealt out is not the one that was announced");
}

Status Server::unmask_own(ClientId client) {
  MG_TRY(const Secret seed, secret_of(client));
  if (digest_of_seed(round_, client, seed) != members_.at(client).seed_digest) return other_secret(client);
  add_mask(seed, Sign::minus, sum_.words);
  return {};
}

/// The masks that others share with a client whose vector is not in the sum.
Status Server::unmask_pairs(ClientId client) {
  MG_TRY(const Secret key, secret_of(client));
  if (public_key_of(key) != members_.at(client).mask_key) return other_secret(client);
  for (const ClientId other : members_.at(client).neighbours) {
    if (!has_vector_of(other)) continue;
    MG_TRY(const Secret seed, pair_seed(round_, client, other, key, members_.at(other).mask_key));
    add_mask(seed, other < client ? Sign::minus : Sign::plus, sum_.words);
  }
  return {};
}

void Server::take(ClientId from, std::string_view bytes) {
  MG_CHECK(waiting_.erase(from) == 1);
  const Result<Reply> reply = parse_reply(bytes, words_);
  const Status taken = reply.ok() ? take_reply(from, *reply) : Status(reply.error());
  if (!taken.ok()) accuse(from, "sent a wrong reply: " + taken.error().message);
}

Status Server::take_reply(ClientId from, const Reply& reply) {
  if (step_ == Step::keys && reply.has_keys()) return take_keys(from, reply.keys());
  if (step_ == Step::deal && reply.has_dealt()) return take_dealt(from, reply.dealt());
  if (step_ == Step::mask && reply.has_masked()) return take_masked(from, reply.masked());
  if (step_ == Step::show && reply.has_opened()) return take_opened(from, reply.opened());
  if (step_ == Step::reveal && reply.has_revealed()) return take_revealed(from, reply.revealed());
  return no_fit("not to what was asked");
}

Status Server::take_keys(ClientId from, const Keys& keys) {
  Member member;
  MG_TRY(member.mask_key, read_public(keys.mask_key(), "mask key"));
  MG_TRY(member.envelope_key, read_public(keys.envelope_key(), "envelope key"));
  MG_TRY(member.seed_digest, read_public(keys.seed_digest(), "digest"));
  const Secret probe = draw_secret(random_);
  MG_RETURN_IF_ERROR(agree(probe, member.mask_key));
  MG_RETURN_IF_ERROR(agree(probe, member.envelope_key));
  members_.emplace(from, std::move(member));
  announced_.insert(from);
  return {};
}

std::vector<ClientId> Server::holders(ClientId client) const {
  std::vector<ClientId> all = members_.at(client).neighbours;
  all.insert(std::ranges::upper_bound(all, client), client);
  return all;
}

/// The number of the dealer's share that this holder has.
std::size_t Server::place(ClientId dealer, ClientId holder) const {
  const std::vector<ClientId> all = holders(dealer);
  return static_cast<std::size_t>(std::ranges::lower_bound(all, holder) - all.begin());
}

Status Server::take_dealt(ClientId from, const Dealt& dealt) {
  const std::vector<ClientId> all = holders(from);
  if (static_cast<std::size_t>(dealt.envelopes_size()) != all.size())
    return no_fit("envelopes for other clients than its neighbours and itself");
  std::map<ClientId, Envelope> envelopes;
  std::map<ClientId, ShareDigests> digests;
  for (int i = 0; i < dealt.envelopes_size(); ++i) {
    const Envelope& envelope = dealt.envelopes(i);
    const ClientId holder = all[static_cast<std::size_t>(i)];
    if (envelope.client() != holder) return no_fit("envelopes for other clients than its neighbours and itself");
    MG_TRY(digests[holder], read_digests(envelope));
    const bool is_own = holder == from;
    if (envelope.key().size() != (is_own ? 0 : kKeyBytes) || envelope.sealed().size() != (is_own ? 0 : kSealedBytes))
      return no_fit("an envelope of another length");
    if (!is_own) envelopes[holder] = envelope;
  }
  members_.at(from).envelopes = std::move(envelopes);
  members_.at(from).digests = std::move(digests);
  dealt_.insert(from);
  return {};
}

/// Vectors are added up as they come, so that there is memory for one only.
Status Server::take_masked(ClientId from, const Masked& masked) {
  const std::set<ClientId> accused(masked.accused().begin(), masked.accused().end());
  const std::vector<ClientId>& neighbours = members_.at(from).neighbours;
  for (const ClientId client : accused) {
    if (!std::ranges::binary_search(neighbours, client) || !dealt_.contains(client))
      return no_fit("an accusation of a client that has sent it no envelope");
  }
  if (accused.empty()) {
    MG_TRY(const std::vector<std::uint32_t> words, read_words(masked.words(), words_));
    sum_.words.resize(words_);
    std::ranges::transform(sum_.words, words, sum_.words.begin(), std::plus<>());
    masked_.insert(from);
    return {};
  }
  if (!masked.words().empty()) return no_fit("an accusation and words");
  for (const ClientId client : accused) disputes_[client].push_back(from);
  return {};
}

/// Either what the dealer shows is right, and the accuser has lied, or the dealer has.
Status Server::take_opened(ClientId from, const Opened& opened) {
  std::vector<ClientId>& accusers = disputes_.at(from);
  if (static_cast<std::size_t>(opened.keys_size()) != accusers.size())
    return no_fit("keys of other envelopes than were asked for");
  for (std::size_t i = 0; i < accusers.size(); ++i) {
    const ClientId accuser = accusers[i];
    MG_TRY(const Secret key, read_secret(opened.keys(static_cast<int>(i)), "key"));
    const auto shown = open_shown({round_, from, accuser}, members_.at(from).envelopes.at(accuser),
                                  members_.at(accuser).envelope_key, key);
    if (shown.ok()) {
      accuse(accuser, "said that it got wrong shares, which were right");
    } else {
      accuse(from, "dealt out wrong shares: " + shown.error().message);
    }
  }
  return {};
}

/// All of a holder's shares are used, or none.
Status Server::take_revealed(ClientId from, const Revealed& revealed) {
  std::vector<ClientId> dealers = holders(from);
  std::erase_if(dealers, [&](ClientId client) { return !dealt_.contains(client); });
  if (static_cast<std::size_t>(revealed.shares_size()) != dealers.size())
    return no_fit("shares of other clients than were asked for");
  std::vector<Secret> shares;
  for (int i = 0; i < revealed.shares_size(); ++i) {
    const ClientId dealer = dealers[static_cast<std::size_t>(i)];
    if (revealed.shares(i).client() != dealer) return no_fit("shares of other clients than were asked for");
    MG_TRY(const Secret share, read_secret(revealed.shares(i).share(), "share"));
    const Route route{round_, dealer, from};
    const ShareDigests& digests = members_.at(dealer).digests.at(from);
    const bool fits =
        has_vector_of(dealer) ? fits_seed_digest(route, digests, share) : fits_key_digest(route, digests, share);
    if (!fits) return no_fit("a share that is not the one it was dealt");
    shares.push_back(share);
  }
  for (std::size_t i = 0; i < dealers.size(); ++i)
    members_.at(dealers[i]).revealed.emplace_back(place(dealers[i], from), shares[i]);
  return {};
}

void Server::accuse(ClientId client, const std::string& deed) {
  liars_.emplace(client, deed);
}

}  // namespace mangrove::secure

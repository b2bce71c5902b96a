#include "mangrove/secure_aggregation/client.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/secure_aggregation/mask.h"
#include "mangrove/secure_aggregation/primitives.h"
#include "mangrove/secure_aggregation/shamir.h"
#include "mangrove/secure_aggregation/wire.h"

namespace mangrove::secure {
namespace {

Error refuse(const std::string& why) {
  return make_error(Code::failed_precondition, why);
}

void add_share(Revealed& revealed, ClientId client, const Secret& share) {
  Share& added = *revealed.add_shares();
  added.set_client(client);
  added.set_share(std::string(text_of(share.bytes())));
}

}  // namespace

Result<std::string> Client::reply(std::string_view order_bytes,
                                  const std::function<std::vector<std::uint32_t>()>& vector) {
  MG_TRY(const Order order, parse_order(order_bytes));
  Result<Reply> reply = no_fit("an order that this client does not know");
  if (order.has_begin()) reply = begin(order.begin());
  if (order.has_neighbours()) reply = deal(order.neighbours());
  if (order.has_inbox()) reply = mask(order.inbox(), vector);
  if (order.has_dispute()) reply = show(order.dispute());
  if (order.has_outcome()) reply = reveal(order.outcome());
  if (!reply.ok()) return reply.error();
  return reply->SerializeAsString();
}

Status Client::expect(Step step) const {
  if (step_ == step) return {};
  return refuse("an order that does not come next");
}

Secret Client::envelope_key(ClientId holder) const {
  return derive(envelopes_, purpose("envelope key", round_, id_, holder));
}

Result<Reply> Client::begin(const Begin& order) {
  if (has_given()) return refuse("the vector was in a round already");
  step_ = Step::keys;
  round_ = order.round();
  id_ = order.client();
  neighbours_.clear();
  shares_.clear();
  shown_ = 0;
  for (Secret* const secret : {&mask_key_, &envelope_key_, &seed_, &envelopes_}) *secret = draw_secret(random_);
  Reply reply;
  Keys& keys = *reply.mutable_keys();
  keys.set_mask_key(std::string(text_of(public_key_of(mask_key_))));
  keys.set_envelope_key(std::string(text_of(public_key_of(envelope_key_))));
  keys.set_seed_digest(std::string(text_of(digest_of_seed(round_, id_, seed_))));
  return reply;
}

/// Each secret goes in shares to all neighbours, and to the client itself, in the order of their numbers.
Result<Reply> Client::deal(const Neighbours& order) {
  MG_RETURN_IF_ERROR(expect(Step::keys));
  std::map<ClientId, Neighbour> neighbours;
  for (const secure::Neighbour& one : order.neighbours()) {
    if (one.client() == id_ || (!neighbours.empty() && one.client() <= neighbours.rbegin()->first))
      return no_fit("neighbours that are not in ascending order");
    Neighbour& neighbour = neighbours[one.client()];
    MG_TRY(neighbour.mask_key, read_public(one.mask_key(), "mask key"));
    MG_TRY(neighbour.envelope_key, read_public(one.envelope_key(), "envelope key"));
  }
  const std::size_t holders = neighbours.size() + 1, threshold = order.threshold();
  if (holders > kMostShares || threshold > holders || threshold < kFewestClients || 3 * threshold <= holders) {
    return refuse("a threshold of " + std::to_string(threshold) + " of " + std::to_string(holders) +
                  " holders hides too little");
  }
  std::set<ClientId> all{id_};
  for (const auto& [client, unused] : neighbours) all.insert(client);
  const std::vector<Secret> of_key = share(mask_key_, threshold, holders, random_);
  const std::vector<Secret> of_seed = share(seed_, threshold, holders, random_);
  Reply reply;
  std::size_t place = 0;
  Shares own;
  for (const ClientId holder : all) {
    const Shares shares{of_key[place], of_seed[place]};
    ++place;
    Envelope& envelope = *reply.mutable_dealt()->add_envelopes();
    if (holder == id_) {
      own = shares;
      envelope = empty_envelope(to(holder), shares);
    } else {
      MG_TRY(envelope, close_envelope(to(holder), shares, neighbours.at(holder).envelope_key, envelope_key(holder)));
    }
  }
  own_ = own;
  neighbours_ = std::move(neighbours);
  threshold_ = threshold;
  step_ = Step::dealt;
  return reply;
}

/// Where an envelope holds other shares than its dealer has said, this client cannot help to take off that dealer's
/// masks, so it stays out and says why.
Result<Reply> Client::mask(const Inbox& order, const std::function<std::vector<std::uint32_t>()>& vector) {
  MG_RETURN_IF_ERROR(expect(Step::dealt));
  std::map<ClientId, Shares> shares;
  Reply reply;
  Masked& masked = *reply.mutable_masked();
  std::optional<ClientId> last;
  for (const Envelope& envelope : order.envelopes()) {
    const ClientId dealer = envelope.client();
    if (!neighbours_.contains(dealer) || (last && dealer <= *last))
      return no_fit("envelopes that are not of neighbours in ascending order");
    last = dealer;
    const Result<Shares> opened = open_envelope(from(dealer), envelope, envelope_key_);
    if (opened.ok()) {
      shares[dealer] = *opened;
    } else {
      masked.add_accused(dealer);
    }
  }
  if (masked.accused_size() > 0) {
    step_ = Step::accused;
    return reply;
  }
  if (shares.size() + 1 < threshold_) {
    return refuse("shares of " + std::to_string(shares.size()) + " neighbours; " + std::to_string(threshold_) +
                  " clients are needed");
  }
  std::vector<std::pair<Secret, Sign>> masks{{seed_, Sign::plus}};
  for (const auto& [other, unused] : shares) {
    MG_TRY(const Secret seed, pair_seed(round_, id_, other, mask_key_, neighbours_.at(other).mask_key));
    masks.emplace_back(seed, id_ < other ? Sign::plus : Sign::minus);
  }
  shares_ = std::move(shares);
  std::vector<std::uint32_t> words = vector();  // nothing can fail from here on
  MG_CHECK(words.size() == words_);
  for (const auto& [seed, sign] : masks) add_mask(seed, sign, words);
  masked.set_words(write_words(words));
  step_ = Step::masked;
  return reply;
}

/// An accuser knows what was in the envelope, so its key tells nobody more than the truth about this client.
Result<Reply> Client::show(const Dispute& order) {
  if (step_ != Step::masked && step_ != Step::accused) return refuse("an order that does not come next");
  const auto accusers = static_cast<std::size_t>(order.accusers_size());
  if (accusers + shown_ > most_shown(neighbours_.size() + 1, threshold_))
    return refuse("an order to show the contents of too many envelopes");
  Reply reply;
  Opened& opened = *reply.mutable_opened();
  for (const ClientId accuser : order.accusers()) {
    if (!neighbours_.contains(accuser)) return no_fit("an accuser that is no neighbour");
    opened.add_keys(std::string(text_of(envelope_key(accuser).bytes())));
  }
  shown_ += accusers;
  return reply;
}

/// Of each client one secret at most: the seed takes a mask off that is in the sum, the mask key takes those off that
/// others share with a client whose vector is not. Both together would show a vector.
Result<Reply> Client::reveal(const Outcome& order) {
  MG_RETURN_IF_ERROR(expect(Step::masked));
  const std::set<ClientId> survivors(order.survivors().begin(), order.survivors().end());
  const std::set<ClientId> dropped(order.dropped().begin(), order.dropped().end());
  std::set<ClientId> all = survivors;
  all.insert(dropped.begin(), dropped.end());
  const auto listed = static_cast<std::size_t>(order.survivors_size()) + static_cast<std::size_t>(order.dropped_size());
  const bool are_dealers = std::ranges::all_of(all, [&](ClientId client) { return shares_.contains(client); });
  if (listed != shares_.size() || all.size() != shares_.size() || !are_dealers)
    return refuse("survivors and drop-outs that are not, each once, the clients with masks in this vector");
  if (survivors.size() + 1 < threshold_) {
    return refuse("a sum of " + std::to_string(survivors.size() + 1) + " of this client and its neighbours; it takes " +
                  std::to_string(threshold_));
  }
  Reply reply;
  all.insert(id_);
  for (const ClientId client : all) {
    const Shares& shares = client == id_ ? own_ : shares_.at(client);
    add_share(*reply.mutable_revealed(), client, dropped.contains(client) ? shares.of_key : shares.of_seed);
  }
  step_ = Step::revealed;
  return reply;
}

}  // namespace mangrove::secure

// What a coordinator and a coalition of clients can compute about the vector of another client.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "tests/secure_aggregation/chi_square.h"
#include "tests/secure_aggregation/round.h"

#include "mangrove/secure_aggregation/mask.h"
#include "mangrove/secure_aggregation/primitives.h"
#include "mangrove/secure_aggregation/shamir.h"

namespace mangrove::secure {
namespace {

constexpr ClientId kVictim = 7;
constexpr std::size_t kSecrecyClients = 9, kThreshold = 6;

/// A client of the coalition: the secrets that it drew, again.
struct Corrupt {
  explicit Corrupt(ClientId number) : client(number) {
    const RandomSource random = seeded(Round::seed_of(number));
    mask_key = draw_secret(random);
    envelope_key = draw_secret(random);
  }
  ClientId client;
  Secret mask_key, envelope_key;
};

/// All that the coordinator sees of a round, and what a coalition with it makes of that.
class Coalition {
 public:
  Coalition(Round& round, std::size_t clients) : round_(round) {
    for (const ClientId client : Round::numbers(kSecrecyClients))
      if (client != kVictim && corrupt_.size() < clients) corrupt_.emplace_back(client);
    round_.carry = [this](const Carried& carried, std::string message) {
      see(carried, message);
      return std::optional(std::move(message));
    };
  }

  /// The victim's vector without the masks that it shares with the coalition.
  std::vector<std::uint32_t> masked_vector() const {
    std::vector<std::uint32_t> words = read_words(masked_.words(), words_of(masked_)).value();
    for (const Corrupt& one : corrupt_) {
      const Secret seed = pair_seed(round_number_, kVictim, one.client, one.mask_key, victims_mask_key()).value();
      add_mask(seed, kVictim < one.client ? Sign::minus : Sign::plus, words);
    }
    return words;
  }

  /// What the coalition's shares of the victim's secrets make up. It is its secrets if there are enough shares.
  Shares secrets() const {
    std::vector<std::pair<std::size_t, Secret>> of_key, of_seed;
    const std::vector<ClientId> holders = Round::numbers(kSecrecyClients);
    for (const Corrupt& one : corrupt_) {
      const Shares shares = shares_of(one);
      const auto place = static_cast<std::size_t>(std::ranges::find(holders, one.client) - holders.begin());
      of_key.emplace_back(place, shares.of_key);
      of_seed.emplace_back(place, shares.of_seed);
    }
    return {combine(of_key), combine(of_seed)};
  }

  /// The victim's vector if these are its secrets.
  std::vector<std::uint32_t> unmasked_by(const Shares& secrets) const {
    std::vector<std::uint32_t> words = read_words(masked_.words(), words_of(masked_)).value();
    add_mask(secrets.of_seed, Sign::minus, words);
    for (const auto& [client, keys] : keys_) {
      if (client == kVictim) continue;
      const Public other = read_public(keys.mask_key(), "key").value();
      const Secret seed = pair_seed(round_number_, kVictim, client, secrets.of_key, other).value();
      add_mask(seed, kVictim < client ? Sign::minus : Sign::plus, words);
    }
    return words;
  }

 private:
  static std::size_t words_of(const Masked& masked) { return masked.words().size() / 4; }

  void see(const Carried& carried, const std::string& message) {
    if (carried.is_order) {
      const Order order = parse_order(message).value();
      if (order.has_begin()) round_number_ = order.begin().round();
      return;
    }
    const Reply reply = parse_reply(message, 1 << 20).value();
    if (reply.has_keys()) keys_[carried.client] = reply.keys();
    if (carried.client == kVictim && reply.has_dealt()) dealt_ = reply.dealt();
    if (carried.client == kVictim && reply.has_masked()) masked_ = reply.masked();
  }

  Public victims_mask_key() const { return read_public(keys_.at(kVictim).mask_key(), "key").value(); }

  Shares shares_of(const Corrupt& one) const {
    for (const Envelope& envelope : dealt_.envelopes()) {
      if (envelope.client() == one.client)
        return open_envelope({round_number_, kVictim, one.client}, envelope, one.envelope_key).value();
    }
    ADD_FAILURE() << "no envelope for " << one.client;
    return {};
  }

  Round& round_;
  std::vector<Corrupt> corrupt_;
  std::uint64_t round_number_ = 0;
  std::map<ClientId, Keys> keys_;
  Dealt dealt_;
  Masked masked_;
};

ByteCounts bytes_of_words(const std::vector<std::uint32_t>& words) {
  ByteCounts counts;
  for (const std::uint32_t word : words)
    for (unsigned shift = 0; shift < 32; shift += 8) counts.add(word >> shift & 0xff);
  return counts;
}

class CoalitionBelowTheThreshold : public ::testing::TestWithParam<std::size_t> {};

// The victim's vector is all zeros, the least random that there is.
TEST_P(CoalitionBelowTheThreshold, SeesUniformValues) {
  constexpr std::size_t kWords = 50'000;
  Round round(kSecrecyClients, kWords, 42);
  std::ranges::fill(round.vector(kVictim), 0u);
  Coalition coalition(round, GetParam());
  ASSERT_TRUE(round.run().ok());
  ASSERT_EQ(choose_connections(kSecrecyClients)->threshold, kThreshold);
  for (const ByteCounts& counts :
       {bytes_of_words(coalition.masked_vector()), bytes_of_words(coalition.unmasked_by(coalition.secrets()))})
    EXPECT_TRUE(counts.are_uniform()) << counts.chi_square();
}

INSTANTIATE_TEST_SUITE_P(Clients, CoalitionBelowTheThreshold, ::testing::Values(1, 2, kThreshold - 1));

// So the test above sees what there is to see: one more client, and nothing is hidden.
TEST(CoalitionOfTheThreshold, SeesTheVector) {
  constexpr std::size_t kWords = 5000;
  Round round(kSecrecyClients, kWords, 42);
  Coalition coalition(round, kThreshold);
  ASSERT_TRUE(round.run().ok());
  EXPECT_EQ(coalition.unmasked_by(coalition.secrets()), round.vector(kVictim));
  std::ranges::fill(round.vector(kVictim), 0u);
  EXPECT_FALSE(bytes_of_words(round.vector(kVictim)).are_uniform());
}

// Over many rounds, the share of one holder says nothing about a secret that is always the same.
TEST(Secrecy, NoMessageShowsTheVectorEvenOnceItsMasksWithOthersAreOff) {
  constexpr std::size_t kWords = 20'000;
  Round round(kSecrecyClients, kWords, 43);
  std::ranges::fill(round.vector(kVictim), 0u);
  Coalition coalition(round, 0);
  const auto see = round.carry;
  round.carry = [&](const Carried& carried, std::string message) {  // its masked vector comes too late
    see(carried, message);
    const bool is_lost = carried.client == kVictim && carried.step == Order::kInbox && !carried.is_order;
    return is_lost ? std::nullopt : std::optional(std::move(message));
  };
  const Result<Sum> sum = round.run();
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->clients.size(), kSecrecyClients - 1);
  // The others have revealed the victim's mask key. The mask of its own seed is still on its vector.
  const RandomSource random = seeded(Round::seed_of(kVictim));
  const Shares secrets{draw_secret(random), Secret()};
  std::vector<std::uint32_t> words = coalition.unmasked_by(secrets);
  add_mask(Secret(), Sign::plus, words);  // of the seed that is not known, which unmasked_by() has taken for this
  EXPECT_TRUE(bytes_of_words(words).are_uniform());
}

class ClientsRefusal : public ::testing::Test {
 protected:
  /// Runs a round up to the last step, and returns the order that this client gets then.
  std::string outcome_for(Round& round, ClientId client) {
    std::string order;
    round.carry = [&](const Carried& carried, std::string message) {
      if (carried.step == Order::kOutcome && carried.client == client && carried.is_order) order = message;
      return carried.step == Order::kOutcome ? std::nullopt : std::optional(std::move(message));
    };
    EXPECT_FALSE(round.run().ok());
    return order;
  }
  Code reply_to(Round& round, const Order& order) {
    return round.client(1).reply(order.SerializeAsString(), [&] { return round.vector(1); }).code();
  }
};

TEST_F(ClientsRefusal, ToRevealBothSecretsOfAClient) {
  Round round(6, 5, 1);
  const Order asked = parse_order(outcome_for(round, 1)).value();
  Order both = asked;
  both.mutable_outcome()->add_dropped(3);
  EXPECT_EQ(reply_to(round, both), Code::failed_precondition);
  Order twice = asked;
  twice.mutable_outcome()->set_survivors(0, 5);
  EXPECT_EQ(reply_to(round, twice), Code::failed_precondition);
  Order own = asked;
  own.mutable_outcome()->mutable_survivors()->RemoveLast();
  own.mutable_outcome()->add_dropped(1);
  EXPECT_EQ(reply_to(round, own), Code::failed_precondition);
  EXPECT_TRUE(round.client(1).reply(asked.SerializeAsString(), [] { return std::vector<std::uint32_t>(); }).ok());
  Order other = asked;  // the seed of 3 is told, its mask key is not
  other.mutable_outcome()->mutable_survivors()->Clear();
  for (const ClientId client : {5u, 7u, 9u, 11u}) other.mutable_outcome()->add_survivors(client);
  other.mutable_outcome()->add_dropped(3);
  EXPECT_EQ(reply_to(round, other), Code::failed_precondition);
}

TEST_F(ClientsRefusal, ToHelpWithASumOfTooFew) {
  Round round(6, 5, 1);
  Order order = parse_order(outcome_for(round, 1)).value();
  order.mutable_outcome()->mutable_survivors()->Clear();
  for (const ClientId client : {3u, 5u}) order.mutable_outcome()->add_survivors(client);
  for (const ClientId client : {7u, 9u, 11u}) order.mutable_outcome()->add_dropped(client);
  EXPECT_EQ(reply_to(round, order), Code::failed_precondition);
}

TEST_F(ClientsRefusal, ToShowManyOfItsEnvelopes) {
  Round round(6, 5, 1);
  outcome_for(round, 1);
  Order one, two;
  one.mutable_dispute()->add_accusers(3);
  for (const ClientId client : {5u, 7u}) two.mutable_dispute()->add_accusers(client);
  EXPECT_TRUE(round.client(1).reply(one.SerializeAsString(), [&] { return round.vector(1); }).ok());
  EXPECT_EQ(reply_to(round, two), Code::failed_precondition);
  EXPECT_TRUE(round.client(1).reply(one.SerializeAsString(), [&] { return round.vector(1); }).ok());
  EXPECT_EQ(reply_to(round, one), Code::failed_precondition);
}

TEST_F(ClientsRefusal, ToGiveItsVectorToAnotherRound) {
  Round round(6, 5, 1);
  outcome_for(round, 1);
  EXPECT_TRUE(round.client(1).has_given());
  Order again;
  again.mutable_begin()->set_round(2);
  EXPECT_EQ(reply_to(round, again), Code::failed_precondition);
}

// And it has not asked for the vector then, so that a later order finds it.
TEST_F(ClientsRefusal, OfAMaskWithAKeyOfSmallOrder) {
  Round round(6, 5, 1);
  std::string inbox;
  round.carry = [&](const Carried& carried, std::string message) {
    if (carried.client != 1 || !carried.is_order) return std::optional(std::move(message));
    if (carried.step == Order::kInbox) inbox = message;
    if (carried.step != Order::kNeighbours) return std::optional(std::move(message));
    Order order = parse_order(message).value();
    order.mutable_neighbours()->mutable_neighbours(0)->set_mask_key(std::string(kKeyBytes, '\0'));
    return std::optional(order.SerializeAsString());
  };
  const Result<Sum> sum = round.run();
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->clients.size(), 5u);
  bool asked = false;
  const auto vector = [&] {
    asked = true;
    return round.vector(1);
  };
  EXPECT_EQ(round.client(1).reply(inbox, vector).code(), Code::invalid_argument);
  EXPECT_FALSE(asked);
}

TEST_F(ClientsRefusal, OfAThresholdThatHidesLittle) {
  for (const std::uint32_t threshold : {0u, 1u, 2u, 7u}) {
    Round round(6, 5, 1);
    round.carry = [&](const Carried& carried, std::string message) {
      if (carried.step != Order::kNeighbours || !carried.is_order) return std::optional(std::move(message));
      Order order = parse_order(message).value();
      order.mutable_neighbours()->set_threshold(threshold);
      return std::optional(order.SerializeAsString());
    };
    EXPECT_EQ(round.run().code(), Code::failed_precondition) << threshold;
    EXPECT_FALSE(round.client(1).has_given());
  }
}

}  // namespace
}  // namespace mangrove::secure

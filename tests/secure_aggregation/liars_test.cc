// Clients that do not keep to the protocol are named.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/secure_aggregation/round.h"

#include "mangrove/secure_aggregation/primitives.h"
#include "mangrove/secure_aggregation/shamir.h"

namespace mangrove::secure {
namespace {

constexpr std::size_t kLiarsClients = 7, kLiarsWords = 11;
constexpr ClientId kLiar = 5;

/// What the liar makes of its reply to this step.
void forge(Round& round, Order::StepCase step, const std::function<void(Reply&)>& lie) {
  round.carry = [=](const Carried& carried, std::string message) {
    if (carried.client != kLiar || carried.step != step || carried.is_order) return std::optional(std::move(message));
    Reply reply = parse_reply(message, kLiarsWords).value();
    lie(reply);
    return std::optional(reply.SerializeAsString());
  };
}

std::string with_a_bit_changed(std::string bytes) {
  bytes[9] = static_cast<char>(bytes[9] ^ 1);
  return bytes;
}

void expect_liar(Round& round, const std::string& deed) {
  ASSERT_EQ(round.server().liars().size(), 1u);
  EXPECT_EQ(round.server().liars().begin()->first, kLiar);
  EXPECT_NE(round.server().liars().at(kLiar).find(deed), std::string::npos) << round.server().liars().at(kLiar);
}

// Its vector is in the sum, and the others have enough shares.
TEST(HolderOfShares, ThatRevealsAnotherShareIsNamedAndNotMissed) {
  for (int share = 0; share < static_cast<int>(kLiarsClients); ++share) {
    Round round(kLiarsClients, kLiarsWords, 1);
    forge(round, Order::kOutcome, [=](Reply& reply) {
      std::string& field = *reply.mutable_revealed()->mutable_shares(share)->mutable_share();
      field = with_a_bit_changed(field);
    });
    const Result<Sum> sum = round.run();
    ASSERT_TRUE(sum.ok()) << sum.error().message;
    EXPECT_EQ(sum->words, round.plain_sum(Round::numbers(kLiarsClients)));
    expect_liar(round, "a share that is not the one it was dealt");
  }
}

TEST(HolderOfShares, ThatRevealsTheOtherSecretsShareIsNamed) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kOutcome, [](Reply& reply) {
    Revealed& revealed = *reply.mutable_revealed();
    std::swap(*revealed.mutable_shares(0)->mutable_share(), *revealed.mutable_shares(1)->mutable_share());
  });
  EXPECT_TRUE(round.run().ok());
  expect_liar(round, "a share that is not the one it was dealt");
}

/// Digests that are those of other shares than are in the envelope to the first neighbour.
void change_digest(Reply& reply) {
  Envelope& envelope = *reply.mutable_dealt()->mutable_envelopes(0);
  envelope.set_seed_share_digest(with_a_bit_changed(envelope.seed_share_digest()));
}

TEST(Dealer, OfAShareThatDoesNotFitItsDigestIsNamedOnceAHolderComplains) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kNeighbours, change_digest);
  EXPECT_EQ(round.run().code(), Code::aborted);  // its vector was in the sum already
  expect_liar(round, "dealt out wrong shares");
  EXPECT_FALSE(round.client(1).has_given());  // the holder kept its vector
}

TEST(Dealer, OfAnEnvelopeThatCannotBeReadIsNamed) {
  for (const bool key : {true, false}) {
    Round round(kLiarsClients, kLiarsWords, 1);
    forge(round, Order::kNeighbours, [=](Reply& reply) {
      Envelope& envelope = *reply.mutable_dealt()->mutable_envelopes(0);
      if (key) {
        envelope.set_key(with_a_bit_changed(envelope.key()));
      } else {
        envelope.set_sealed(with_a_bit_changed(envelope.sealed()));
      }
    });
    EXPECT_EQ(round.run().code(), Code::aborted);
    expect_liar(round, "dealt out wrong shares");
  }
}

TEST(Dealer, OfAnEnvelopeWithAKeyOfSmallOrderIsNamed) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kNeighbours,
        [](Reply& reply) { reply.mutable_dealt()->mutable_envelopes(0)->set_key(std::string(kKeyBytes, '\0')); });
  EXPECT_EQ(round.run().code(), Code::aborted);
  expect_liar(round, "dealt out wrong shares");
}

// The shares fit their digests, but make up something else than was announced.
TEST(Dealer, OfSharesOfAnotherSecretIsNamed) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kBegin, [](Reply& reply) {
    Keys& keys = *reply.mutable_keys();
    keys.set_seed_digest(with_a_bit_changed(keys.seed_digest()));
  });
  EXPECT_EQ(round.run().code(), Code::aborted);
  expect_liar(round, "dealt out shares of another secret than it announced");
}

TEST(Dealer, OfSharesOfAnotherMaskKeyIsNamedWhereTheKeyIsNeeded) {
  for (const bool drops_out : {false, true}) {
    Round round(kLiarsClients, kLiarsWords, 1);
    const Public other = public_key_of(draw_secret(seeded(99)));
    forge(round, Order::kBegin, [&](Reply& reply) { reply.mutable_keys()->set_mask_key(std::string(text_of(other))); });
    const auto lie = round.carry;
    round.carry = [&](const Carried& carried, std::string message) {
      const bool is_lost = drops_out && carried.client == kLiar && carried.step == Order::kInbox;
      return is_lost ? std::nullopt : lie(carried, std::move(message));
    };
    const Result<Sum> sum = round.run();
    if (drops_out) {
      EXPECT_EQ(sum.code(), Code::aborted);
      expect_liar(round, "dealt out shares of another secret than it announced");
    } else {
      EXPECT_TRUE(sum.ok());  // a wrong vector, as if it had sent another one: nobody can see that
    }
  }
}

TEST(Accuser, OfAnHonestDealerIsNamedAndOnlyItsVectorIsMissing) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kInbox, [](Reply& reply) {
    reply.mutable_masked()->clear_words();
    reply.mutable_masked()->add_accused(1);
    reply.mutable_masked()->add_accused(9);
  });
  const Result<Sum> sum = round.run();
  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_EQ(sum->clients.size(), kLiarsClients - 1);
  EXPECT_EQ(sum->words, round.plain_sum(sum->clients));
  expect_liar(round, "said that it got wrong shares, which were right");
}

// So many envelopes are shown that a liar is found, and no more.
TEST(Dealer, OfManyWrongSharesIsNamedByAFewOfThem) {
  for (const std::size_t clients : {std::size_t{3}, kLiarsClients}) {
    Round round(clients, kLiarsWords, 1);
    forge(round, Order::kNeighbours, [](Reply& reply) {
      for (Envelope& envelope : *reply.mutable_dealt()->mutable_envelopes())
        if (envelope.client() != kLiar) envelope.set_sealed(with_a_bit_changed(envelope.sealed()));
    });
    const auto lie = round.carry;
    int shown = 0;
    round.carry = [&](const Carried& carried, std::string message) {
      if (carried.is_order && carried.step == Order::kDispute)
        shown += parse_order(message).value().dispute().accusers_size();
      return lie(carried, std::move(message));
    };
    EXPECT_FALSE(round.run().ok());
    expect_liar(round, "dealt out wrong shares");
    EXPECT_EQ(shown, clients == 3 ? 1 : 2);
  }
}

// Who does not answer to an accusation is not named: it may be a drop-out.
TEST(Accuser, OfADealerThatIsLostIsNotNamed) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kNeighbours, change_digest);
  const auto lie = round.carry;
  round.carry = [&](const Carried& carried, std::string message) {
    return carried.step == Order::kDispute ? std::nullopt : lie(carried, std::move(message));
  };
  const Result<Sum> sum = round.run();
  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_EQ(sum->words, round.plain_sum(sum->clients));
  EXPECT_TRUE(round.server().liars().empty());
}

TEST(Liar, OfEachReplyThatDoesNotFitIsNamed) {
  const std::vector<std::pair<Order::StepCase, std::function<void(Reply&)>>> lies = {
      {Order::kBegin, [](Reply& r) { r.Clear(); }},
      {Order::kBegin, [](Reply& r) { r.mutable_masked(); }},
      {Order::kBegin, [](Reply& r) { r.mutable_keys()->set_mask_key("short"); }},
      {Order::kBegin, [](Reply& r) { r.mutable_keys()->set_mask_key(std::string(kKeyBytes, '\0')); }},
      {Order::kBegin, [](Reply& r) { r.mutable_keys()->set_envelope_key(std::string(kKeyBytes, '\0')); }},
      {Order::kBegin, [](Reply& r) { r.mutable_keys()->clear_seed_digest(); }},
      {Order::kNeighbours, [](Reply& r) { r.mutable_dealt()->mutable_envelopes()->RemoveLast(); }},
      {Order::kNeighbours, [](Reply& r) { r.mutable_dealt()->mutable_envelopes(0)->set_client(3); }},
      {Order::kNeighbours, [](Reply& r) { r.mutable_dealt()->mutable_envelopes(0)->clear_key(); }},
      {Order::kNeighbours, [](Reply& r) { r.mutable_dealt()->mutable_envelopes(0)->set_sealed("x"); }},
      {Order::kNeighbours, [](Reply& r) { r.mutable_dealt()->mutable_envelopes(2)->set_sealed("x"); }},  // its own
      {Order::kNeighbours, [](Reply& r) { r.mutable_dealt()->mutable_envelopes(0)->clear_seed_share_digest(); }},
      {Order::kInbox, [](Reply& r) { r.mutable_masked()->mutable_words()->pop_back(); }},
      {Order::kInbox, [](Reply& r) { r.mutable_masked()->mutable_words()->append(4, 'x'); }},
      {Order::kInbox, [](Reply& r) { r.mutable_masked()->add_accused(1); }},
      {Order::kInbox, [](Reply& r) { r.mutable_masked()->clear_words(); }},
      {Order::kInbox,
       [](Reply& r) {
         r.mutable_masked()->clear_words();
         r.mutable_masked()->add_accused(kLiar);
       }},
      {Order::kOutcome, [](Reply& r) { r.mutable_revealed()->mutable_shares()->RemoveLast(); }},
      {Order::kOutcome, [](Reply& r) { r.mutable_revealed()->mutable_shares(0)->set_client(3); }},
      {Order::kOutcome, [](Reply& r) { r.mutable_revealed()->mutable_shares(0)->clear_share(); }},
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    Round round(kLiarsClients, kLiarsWords, 1);
    forge(round, lies[i].first, lies[i].second);
    const Result<Sum> sum = round.run();
    ASSERT_TRUE(sum.ok()) << i << ": " << sum.error().message;
    EXPECT_EQ(sum->words, round.plain_sum(sum->clients)) << i;
    EXPECT_EQ(sum->clients.size(), lies[i].first == Order::kOutcome ? kLiarsClients : kLiarsClients - 1) << i;
    expect_liar(round, "sent a wrong reply");
  }
}

TEST(Liar, ThatShowsOtherKeysThanWereAskedForIsNamed) {
  Round round(kLiarsClients, kLiarsWords, 1);
  forge(round, Order::kNeighbours, change_digest);
  const auto lie = round.carry;
  round.carry = [&](const Carried& carried, std::string message) {
    if (carried.step != Order::kDispute || carried.is_order) return lie(carried, std::move(message));
    Reply reply;
    reply.mutable_opened();
    return std::optional(reply.SerializeAsString());
  };
  EXPECT_EQ(round.run().code(), Code::aborted);
  expect_liar(round, "sent a wrong reply");
}

TEST(Messages, LongerThanTheirContentsMayBeAreNotRead) {
  Reply reply;
  reply.mutable_opened()->add_keys(std::string(kMostBytes + 1, 'x'));
  EXPECT_EQ(parse_reply(reply.SerializeAsString(), 0).code(), Code::data_loss);
  EXPECT_TRUE(parse_reply(reply.SerializeAsString(), 10).ok());
  EXPECT_EQ(parse_order(std::string(kMostBytes + 1, '\0')).code(), Code::data_loss);
}

// The largest neighbourhood that there may be.
TEST(Messages, OfAsManyNeighboursAsThereMayBeAreShortEnough) {
  std::size_t longest = 0;
  constexpr std::size_t kNeighbours = 99;
  Round round(kNeighbours + 1, 0, 1);
  ASSERT_EQ(choose_connections(kNeighbours + 1)->degree, kNeighbours);
  round.carry = [&](const Carried&, std::string message) {
    longest = std::max(longest, message.size());
    return std::optional(std::move(message));
  };
  EXPECT_TRUE(round.run().ok());
  EXPECT_LT(longest * kMostShares / kNeighbours + kMostShares * 4, kMostBytes);  // 4: longer numbers of clients
}

// Any byte of any message, in either direction: no crash, and never a sum that is wrong without a word.
TEST(Messages, WithAChangedByteNeverMakeAWrongSumOfHonestVectors) {
  Random random(3);
  for (int trial = 0; trial < 400; ++trial) {
    Round round(4, kLiarsWords, static_cast<std::uint64_t>(trial));
    const auto hit = static_cast<int>(random.below(32));
    bool changed_words = false, is_key = false;
    round.carry = [&](const Carried& carried, std::string message) {
      if (carried.number != hit || message.empty()) return std::optional(std::move(message));
      changed_words = carried.step == Order::kInbox && !carried.is_order;
      is_key = carried.step == Order::kBegin || (carried.step == Order::kNeighbours && carried.is_order);
      if (random.below(4) == 0) {
        message.resize(random.below(message.size()));
      } else {
        char& byte = message[random.below(message.size())];
        byte = static_cast<char>(byte ^ static_cast<char>(1 + random.below(255)));
      }
      return std::optional(std::move(message));
    };
    const Result<Sum> sum = round.run();
    // Whoever changes a client's mask key on its way changes its vector, as far as anybody can see.
    const bool may_differ = changed_words || is_key;
    if (sum.ok() && !may_differ) {
      EXPECT_EQ(sum->words, round.plain_sum(sum->clients)) << trial << " " << hit;
    }
  }
}

}  // namespace
}  // namespace mangrove::secure

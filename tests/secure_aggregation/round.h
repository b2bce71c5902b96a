#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/secure_aggregation/client.h"
#include "mangrove/secure_aggregation/server.h"
#include "mangrove/secure_aggregation/wire.h"

namespace mangrove::secure {

/// The bytes of a seed, in place of those that nobody can predict.
inline RandomSource seeded(std::uint64_t seed) {
  return [random = std::make_shared<Random>(seed)](std::span<std::uint8_t> out) {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random->below(256));
  };
}

/// One message of a round, on its way.
struct Carried {
  int number;  // of all messages, from 0
  ClientId client;
  Order::StepCase step;
  bool is_order;  // else the reply to it
};

/// A round between a server and clients whose messages a test may read, change and lose.
class Round {
 public:
  /// Clients have the numbers 1, 3, 5 ...
  Round(std::size_t clients, std::size_t words, std::uint64_t seed)
      : words_(words), server_(Server::create(seed, words, numbers(clients), seeded(seed)).value()) {
    Random random = Random(seed).fork(1);
    for (const ClientId client : numbers(clients)) {
      clients_.emplace(client, Client(words, seeded(seed_of(client))));
      std::vector<std::uint32_t>& vector = vectors_[client];
      for (std::size_t i = 0; i < words; ++i) vector.push_back(static_cast<std::uint32_t>(random.next()));
    }
  }

  static std::vector<ClientId> numbers(std::size_t clients) {
    std::vector<ClientId> all;
    for (std::size_t i = 0; i < clients; ++i) all.push_back(static_cast<ClientId>(2 * i + 1));
    return all;
  }
  /// Of the client's random bytes.
  static std::uint64_t seed_of(ClientId client) { return 1'000'000 + client; }

  /// What becomes of a message; nothing: it is lost, and the server waits for the client no longer.
  std::function<std::optional<std::string>(const Carried&, std::string)> carry =
      [](const Carried&, std::string message) { return std::optional(std::move(message)); };

  Result<Sum> run() {
    int number = 0;
    while (true) {
      const auto orders = server_.next();
      if (!orders.ok()) return orders.error();
      if (orders->empty()) return server_.sum();
      for (const auto& [client, order] : *orders) {
        const std::optional<std::string> reply = deliver(number, client, order);
        number += 2;
        if (reply) {
          server_.take(client, *reply);
        } else {
          server_.lose(client);
        }
      }
      EXPECT_FALSE(server_.is_waiting());
    }
  }

  Server& server() { return server_; }
  Client& client(ClientId number) { return clients_.at(number); }
  std::vector<std::uint32_t>& vector(ClientId client) { return vectors_.at(client); }
  std::vector<std::uint32_t> plain_sum(const std::vector<ClientId>& clients) const {
    std::vector<std::uint32_t> sum(words_);
    for (const ClientId client : clients)
      for (std::size_t i = 0; i < words_; ++i) sum[i] += vectors_.at(client)[i];
    return sum;
  }

 private:
  std::optional<std::string> deliver(int number, ClientId client, const std::string& order) {
    const Order::StepCase step = parse_order(order).value().step_case();
    const std::optional<std::string> come = carry({number, client, step, true}, order);
    if (!come) return std::nullopt;
    const Result<std::string> reply = clients_.at(client).reply(*come, [&] { return vectors_.at(client); });
    if (!reply.ok()) return std::nullopt;
    return carry({number + 1, client, step, false}, *reply);
  }

  const std::size_t words_;
  Server server_;
  std::map<ClientId, Client> clients_;
  std::map<ClientId, std::vector<std::uint32_t>> vectors_;
};

}  // namespace mangrove::secure

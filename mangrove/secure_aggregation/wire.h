#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/secure_aggregation/messages.pb.h"
#include "mangrove/secure_aggregation/neighbours.h"
#include "mangrove/secure_aggregation/secret.h"

namespace mangrove::secure {

/// No message is longer, but for the words of a vector.
constexpr std::size_t kMostBytes = 64 * 1024;

/// The error data_loss of a message that does not fit what it should be.
Error no_fit(const std::string& what);

/// A message, unless it is longer than kMostBytes and this many words. errors: data_loss.
Result<Order> parse_order(std::string_view bytes);
Result<Reply> parse_reply(std::string_view bytes, std::size_t words);

/// Fields of messages. what: the field, for the message of the error. errors: data_loss (another length).
Result<Public> read_public(std::string_view field, const char* what);
Result<Secret> read_secret(std::string_view field, const char* what);
Result<std::vector<std::uint32_t>> read_words(std::string_view field, std::size_t count);
std::string write_words(std::span<const std::uint32_t> words);

/// What ties a key, a digest or a sealed text to one use, from one client to another, in one round.
std::string purpose(std::string_view use, std::uint64_t round, ClientId from, ClientId to);

/// The seed of the mask between two clients, which one adds and the other subtracts: the same for both. own: the
/// private mask key of one of them; other: the public one of the other. errors: those of agree.
Result<Secret> pair_seed(std::uint64_t round, ClientId one, ClientId another, const Secret& own, const Public& other);

/// What a client says of its seed before it deals out shares of it.
Public digest_of_seed(std::uint64_t round, ClientId client, const Secret& seed);

}  // namespace mangrove::secure

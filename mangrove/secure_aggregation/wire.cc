#include "mangrove/secure_aggregation/wire.h"

#include <algorithm>

#include "mangrove/secure_aggregation/primitives.h"

namespace mangrove::secure {
namespace {

constexpr std::size_t kWordBytes = 4;

template <class Message>
Result<Message> parse(std::string_view bytes, std::size_t most) {
  if (bytes.size() > most) {
    return make_error(Code::data_loss,
                      "a message of " + std::to_string(bytes.size()) + " bytes; the most is " + std::to_string(most));
  }
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return make_error(Code::data_loss, "a message that cannot be read");
  return message;
}

Status check_length(std::string_view field, std::size_t length, const char* what) {
  if (field.size() == length) return {};
  return make_error(Code::data_loss, std::string(what) + " of " + std::to_string(field.size()) + " bytes, not " +
                                         std::to_string(length));
}

void append(std::string& text, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

Error no_fit(const std::string& what) {
  return make_error(Code::data_loss, what);
}

Result<Order> parse_order(std::string_view bytes) {
  return parse<Order>(bytes, kMostBytes);
}

Result<Reply> parse_reply(std::string_view bytes, std::size_t words) {
  return parse<Reply>(bytes, kMostBytes + words * kWordBytes);
}

Result<Public> read_public(std::string_view field, const char* what) {
  MG_RETURN_IF_ERROR(check_length(field, kKeyBytes, what));
  Public value;
  std::ranges::copy(bytes_of(field), value.begin());
  return value;
}

Result<Secret> read_secret(std::string_view field, const char* what) {
  MG_RETURN_IF_ERROR(check_length(field, kKeyBytes, what));
  Secret value;
  std::ranges::copy(bytes_of(field), value.bytes().begin());
  return value;
}

Result<std::vector<std::uint32_t>> read_words(std::string_view field, std::size_t count) {
  MG_RETURN_IF_ERROR(check_length(field, count * kWordBytes, "words"));
  const std::span<const std::uint8_t> bytes = bytes_of(field);
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < kWordBytes; ++byte)
      words[i] |= static_cast<std::uint32_t>(bytes[i * kWordBytes + byte]) << (8 * byte);
  }
  return words;
}

std::string write_words(std::span<const std::uint32_t> words) {
  std::string bytes;
  bytes.reserve(words.size() * kWordBytes);
  for (const std::uint32_t word : words) append(bytes, word, kWordBytes);
  return bytes;
}

std::string purpose(std::string_view use, std::uint64_t round, ClientId from, ClientId to) {
  std::string text = "mangrove secure aggregation 1, " + std::string(use);
  append(text, round, 8);
  append(text, from, 4);
  append(text, to, 4);
  return text;
}

Result<Secret> pair_seed(std::uint64_t round, ClientId one, ClientId another, const Secret& own, const Public& other) {
  MG_TRY(const Secret shared, agree(own, other));
  return derive(shared, purpose("mask", round, std::min(one, another), std::max(one, another)));
}

Public digest_of_seed(std::uint64_t round, ClientId client, const Secret& seed) {
  return digest_of(purpose("seed", round, client, client) + std::string(text_of(seed.bytes())));
}

}  // namespace mangrove::secure

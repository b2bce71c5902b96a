#include "mangrove/data/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace mangrove::data {
namespace {

// from FIPS 180-4's examples
TEST(Sha256, AgreesWithTheStandardsExamples) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
  for (const auto& [text, digest] : cases)
    EXPECT_EQ(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}), digest);
}

}  // namespace
}  // namespace mangrove::data

#include "mangrove/serve/protocol/access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/base/temporary_folder.h"

#include "mangrove/base/file.h"

namespace mangrove::serve {
namespace {

using identity::Role;

constexpr const char* kUser = "0123456789abcdef";
constexpr const char* kAdmin = "fedcba9876543210";

Tokens tokens() {
  return Tokens::parse("# who may do what\nuser 0123456789abcdef\n\n admin\tfedcba9876543210 \r\n", kTokenHolders)
      .value();
}

TEST(Tokens, AreOfUsersOrAdmins) {
  EXPECT_EQ(tokens().holder(kUser), "user");
  EXPECT_EQ(tokens().holder(kAdmin), "admin");
  for (const char* other : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg"})
    EXPECT_EQ(tokens().holder(other), std::nullopt) << other;
}

TEST(Tokens, OfAFileThatIsMistypedNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {{"", "it has no token"},
                                                       {"# nothing\n", "it has no token"},
                                                       {"user short\n", "line 1"},
                                                       {"\nroot 0123456789abcdef\n", "line 2"},
                                                       {"user 0123456789 abcdef\n", "line 1"},
                                                       {"0123456789abcdef\n", "line 1"}};
  for (const auto& [text, named] : cases) {
    const auto parsed = Tokens::parse(text, kTokenHolders);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find(named), std::string::npos) << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find("0123456789"), std::string::npos) << "a secret stands in no message";
  }
}

TEST(Tokens, OfAFileThatOthersMayReadAreRefused) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "tokens";
  ASSERT_TRUE(write_private_file(file, std::string("user ") + kUser + "\n").ok());
  EXPECT_TRUE(Tokens::load(file, kTokenHolders).ok());
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  const auto loaded = Tokens::load(file, kTokenHolders);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.code(), Code::permission_denied);
  EXPECT_NE(loaded.error().message.find("chmod 600"), std::string::npos) << loaded.error().message;
}

bool may(const AccessRules& rules, Right right, const Shown& shown) {
  return rules.admit(right, shown).ok();
}

TEST(AccessRules, WithoutCertificatesAndTokensNobodyManages) {
  const AccessRules rules(false, std::nullopt);
  for (const Right right : {Right::none, Right::look, Right::infer}) EXPECT_TRUE(may(rules, right, {}));
  EXPECT_FALSE(may(rules, Right::manage, {}));
}

TEST(AccessRules, ATokenIsAskedOfEverybody) {
  const AccessRules rules(false, tokens());
  const std::string user = std::string("Bearer ") + kUser, admin = std::string("bearer   ") + kAdmin;
  EXPECT_TRUE(may(rules, Right::none, {}));
  for (const Right right : {Right::look, Right::infer}) {
    EXPECT_FALSE(may(rules, right, {}));
    EXPECT_FALSE(may(rules, right, {.member = {}, .authorization = "Bearer 0123456789abcdeX"}));
    EXPECT_FALSE(may(rules, right, {.member = {}, .authorization = kUser})) << "no scheme";
    EXPECT_FALSE(may(rules, right, {.member = {}, .authorization = "Basic 0123456789abcdef"}));
    EXPECT_TRUE(may(rules, right, {.member = {}, .authorization = user}));
  }
  EXPECT_FALSE(may(rules, Right::manage, {.member = {}, .authorization = user}));
  EXPECT_TRUE(may(rules, Right::manage, {.member = {}, .authorization = admin}));
}

TEST(AccessRules, ACertificateSaysWhatItsRoleMay) {
  const AccessRules rules(true, std::nullopt);
  const auto member = [](Role role) { return Shown{.member = identity::Subject{role, "ann"}, .authorization = {}}; };
  EXPECT_FALSE(may(rules, Right::look, {}));
  EXPECT_TRUE(may(rules, Right::look, member(Role::viewer)));
  EXPECT_FALSE(may(rules, Right::infer, member(Role::viewer)));
  EXPECT_TRUE(may(rules, Right::infer, member(Role::client)));
  EXPECT_FALSE(may(rules, Right::manage, member(Role::client)));
  EXPECT_TRUE(may(rules, Right::manage, member(Role::admin)));
  EXPECT_FALSE(may(rules, Right::look, member(Role::node)));
}

TEST(AccessRules, AMemberMayShowAnAdminsTokenToo) {
  const AccessRules rules(true, tokens());
  const std::string admin = std::string("Bearer ") + kAdmin;
  const identity::Subject client{Role::client, "ann"};
  EXPECT_TRUE(may(rules, Right::manage, {.member = client, .authorization = admin}));
  EXPECT_TRUE(may(rules, Right::infer, {.member = client, .authorization = "Bearer of-another-server"}));
}

}  // namespace
}  // namespace mangrove::serve

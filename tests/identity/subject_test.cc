#include "mangrove/identity/subject.h"

#include <gtest/gtest.h>

namespace mangrove::identity {
namespace {

TEST(Subject, IsReadAsItIsWritten) {
  for (const Role role : {Role::coordinator, Role::node, Role::admin, Role::client, Role::viewer}) {
    const Subject subject{role, "pi-3.local"};
    const auto read = parse_subject(subject.uri());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, subject);
  }
  EXPECT_EQ((Subject{Role::node, "pi"}.uri()), "mangrove://node/pi");
}

TEST(Subject, RefusesOtherNames) {
  for (const char* uri :
       {"", "mangrove://", "mangrove://node", "mangrove://node/", "mangrove://king/pi", "spiffe://node/pi",
        "mangrove://node/a/b", "mangrove://node/a,URI:mangrove://admin/a", "mangrove://node/-a", "mangrove://node/a\n"})
    EXPECT_EQ(parse_subject(uri).code(), Code::invalid_argument) << uri;
}

TEST(Subject, ANameHasAtMost63Characters) {
  EXPECT_TRUE(check_name(std::string(63, 'a')).ok());
  EXPECT_FALSE(check_name(std::string(64, 'a')).ok());
}

TEST(Role, NamesTheNearestOne) {
  EXPECT_NE(parse_role("nod").error().message.find("'node'"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::identity

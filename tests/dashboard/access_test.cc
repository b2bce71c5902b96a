// Who may do what: by token, by certificate, and never more than the dashboard itself.
#include "mangrove/dashboard/access.h"

#include <gtest/gtest.h>

namespace mangrove::dashboard {
namespace {

using identity::Role;

constexpr const char* kTokens =
    "viewer 0123456789abcdef\nclient 123456789abcdef0\nadmin 23456789abcdef01\nviewer 23456789abcdef01\n";

Access access_of(Role own) {
  return {own, serve::Tokens::parse(kTokens, kTokenHolders).value()};
}

TEST(DashboardAccess, TokensSayTheRole) {
  const Access access = access_of(Role::admin);
  EXPECT_EQ(access.caller_of("Bearer 0123456789abcdef")->role, Role::viewer);
  EXPECT_EQ(access.caller_of("bearer 123456789abcdef0")->role, Role::client);
  EXPECT_EQ(access.caller_of("Bearer 23456789abcdef01")->role, Role::admin) << "of two lines, the one for more";
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer 0123456789abcdeX", "Basic 0123456789abcdef"})
    EXPECT_EQ(access.caller_of(wrong).code(), Code::permission_denied) << wrong;
}

TEST(DashboardAccess, NobodyMayDoMoreThanTheDashboard) {
  const Access access = access_of(Role::client);
  EXPECT_EQ(access.caller_of("Bearer 23456789abcdef01")->role, Role::client);
  EXPECT_TRUE(access.caller_of("Bearer 23456789abcdef01")->is_owner);
  EXPECT_TRUE(access.caller_of("Bearer 123456789abcdef0")->is_owner);
  EXPECT_FALSE(access.caller_of("Bearer 0123456789abcdef")->is_owner);
}

TEST(DashboardAccess, CallersAreToldApart) {
  const Access access = access_of(Role::admin);
  EXPECT_NE(access.caller_of("Bearer 0123456789abcdef")->name, access.caller_of("Bearer 123456789abcdef0")->name);
  EXPECT_EQ(access.caller_of("Bearer 0123456789abcdef")->name.find("0123456789abcdef"), std::string::npos);
}

TEST(DashboardAccess, EachRightNeedsItsRole) {
  struct Case {
    Role role;
    bool looks, acts, manages;
  };
  for (const Case& one : {Case{Role::viewer, true, false, false}, Case{Role::client, true, true, false},
                          Case{Role::admin, true, true, true}, Case{Role::node, false, false, false}}) {
    EXPECT_EQ(Access::check(one.role, Right::look).ok(), one.looks) << role_name(one.role);
    EXPECT_EQ(Access::check(one.role, Right::act).ok(), one.acts) << role_name(one.role);
    EXPECT_EQ(Access::check(one.role, Right::manage).ok(), one.manages) << role_name(one.role);
  }
}

}  // namespace
}  // namespace mangrove::dashboard

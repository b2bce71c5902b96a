// Who may do what: by token, by certificate, and never more than the dashboard itself.
#include "mangrove/dashboard/access.h"

#include <gtest/gtest.h>

namespace mangrove::dashboard {
namespace {

using identity::Role;
using identity::Subject;

constexpr const char* kTokens =
    "viewer 0123456789abcdef\nclient 123456789abcdef0\nadmin 23456789abcdef01\nviewer 23456789abcdef01\n";

Access access_of(Role own) {
  return {own, serve::Tokens::parse(kTokens, kTokenHolders).value()};
}

TEST(DashboardAccess, TokensSayTheRole) {
  const Access access = access_of(Role::admin);
  EXPECT_EQ(access.role_of({}, "Bearer 0123456789abcdef").value(), Role::viewer);
  EXPECT_EQ(access.role_of({}, "bearer 123456789abcdef0").value(), Role::client);
  EXPECT_EQ(access.role_of({}, "Bearer 23456789abcdef01").value(), Role::admin) << "of two lines, the one for more";
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer 0123456789abcdeX", "Basic 0123456789abcdef"})
    EXPECT_EQ(access.role_of({}, wrong).code(), Code::permission_denied) << wrong;
}

TEST(DashboardAccess, ACertificateOfAPersonSaysTheRole) {
  const Access access = access_of(Role::admin);
  EXPECT_EQ(access.role_of(Subject{Role::client, "ann"}, "").value(), Role::client);
  EXPECT_EQ(access.role_of(Subject{Role::node, "pi"}, "").code(), Code::permission_denied);
  EXPECT_EQ(access.role_of(Subject{Role::node, "pi"}, "Bearer 0123456789abcdef").value(), Role::viewer);
}

TEST(DashboardAccess, NobodyMayDoMoreThanTheDashboard) {
  const Access access = access_of(Role::viewer);
  EXPECT_EQ(access.role_of({}, "Bearer 23456789abcdef01").value(), Role::viewer);
  EXPECT_EQ(access.role_of(Subject{Role::admin, "ann"}, "").value(), Role::viewer);
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

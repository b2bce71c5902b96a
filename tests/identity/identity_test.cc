#include "mangrove/identity/identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/base/temporary_folder.h"
#include "tests/identity/changed_pem.h"

#include "mangrove/identity/signing_time.h"

namespace mangrove::identity {
namespace {

using std::chrono::days;
using std::chrono::hours;

const WallTime kIdentityNow = WallTime(days(30'000));  // after any day on which this is built
const Subject kPi{Role::node, "pi"};

TEST(Identity, IsBelievedByThoseOfItsAuthority) {
  const Authority authority = Authority::make(kIdentityNow);
  const Identity pi = Identity::make(authority, kPi, kIdentityNow);
  EXPECT_TRUE(pi.check(kIdentityNow).ok()) << pi.check(kIdentityNow).error().message;
  EXPECT_TRUE(pi.believes(authority.certificate().hash()));
  EXPECT_EQ(*pi.certificate().subject(), kPi);
}

TEST(Identity, IsReadAsItWasWrittenInAnyOrder) {
  const Identity pi = Identity::make(Authority::make(kIdentityNow), kPi, kIdentityNow);
  for (const std::string& text : {pi.pem(), pi.authorities_pem() + pi.certificate().pem() + pi.key().pem()}) {
    const auto read = Identity::parse(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->subject(), kPi);
    EXPECT_EQ(read->pem(), pi.pem());
  }
}

TEST(Identity, ExpiresAfterThirtyDaysAtMost) {
  const Identity pi = Identity::make(Authority::make(kIdentityNow), kPi, kIdentityNow);
  EXPECT_TRUE(pi.check(kIdentityNow + days(29)).ok());
  const Status late = pi.check(kIdentityNow + days(31));
  EXPECT_EQ(late.code(), Code::permission_denied);
  EXPECT_NE(late.error().message.find("expired on " + to_text(kIdentityNow + days(30))), std::string::npos)
      << late.error().message;
}

TEST(Identity, IsDueAfterTwoThirdsOfItsLifeAndNotWithAllOthers) {
  const Authority authority = Authority::make(kIdentityNow);
  int due = 0;
  for (int i = 0; i < 20; ++i) {
    const Identity pi = Identity::make(authority, kPi, kIdentityNow);
    EXPECT_FALSE(pi.is_due_for_renewal(kIdentityNow + days(20) - hours(1)));
    EXPECT_TRUE(pi.is_due_for_renewal(kIdentityNow + days(22) + hours(13)));
    due += pi.is_due_for_renewal(kIdentityNow + days(21) + hours(6)) ? 1 : 0;
  }
  EXPECT_GT(due, 0);
  EXPECT_LT(due, 20);
}

TEST(Identity, AClockThatIsBehindIsNamed) {
  const Identity pi = Identity::make(Authority::make(kIdentityNow), kPi, kIdentityNow);
  const Status early = pi.check(kIdentityNow - days(1));
  EXPECT_EQ(early.code(), Code::permission_denied);
  EXPECT_NE(early.error().message.find("is the clock right?"), std::string::npos) << early.error().message;
}

TEST(Identity, NeverOutlivesItsAuthority) {
  const Authority authority = Authority::make(kIdentityNow);
  const Identity pi = Identity::make(authority, kPi, kIdentityNow + days(3640));
  EXPECT_EQ(pi.certificate().valid_to(), authority.certificate().valid_to());
}

TEST(Identity, AnotherAuthorityIsNotBelieved) {
  const Identity pi = Identity::make(Authority::make(kIdentityNow), kPi, kIdentityNow);
  const Authority other = Authority::make(kIdentityNow);
  const Status checked = check_chain({pi.certificate()}, {other.certificate()}, kIdentityNow);
  EXPECT_EQ(checked.code(), Code::permission_denied);
  EXPECT_NE(checked.error().message.find("another certificate authority"), std::string::npos)
      << checked.error().message;
}

TEST(Identity, AMemberSignsNobody) {
  const Authority authority = Authority::make(kIdentityNow);
  const Identity pi = Identity::make(authority, kPi, kIdentityNow);
  // a key and a certificate as an authority has them, but of a member
  EXPECT_FALSE(Authority::parse(pi.key().pem() + pi.certificate().pem()).ok());
}

TEST(Identity, APartOfAnotherIsNoticed) {
  const Authority authority = Authority::make(kIdentityNow);
  const Identity pi = Identity::make(authority, kPi, kIdentityNow);
  const Identity other = Identity::make(authority, kPi, kIdentityNow);
  for (const std::string& text :
       {other.key().pem() + pi.chain_pem(), pi.key().pem() + pi.certificate().pem(), pi.key().pem(), pi.chain_pem(),
        pi.key().pem() + pi.authorities_pem(), std::string("nothing")})
    EXPECT_EQ(Identity::parse(text).code(), Code::invalid_argument);
}

TEST(Identity, EveryByteOfACertificateCounts) {
  const Authority authority = Authority::make(kIdentityNow);
  const Identity pi = Identity::make(authority, kPi, kIdentityNow);
  const std::string good = pi.certificate().pem();
  int believed = 0;
  change_each(good, [&](const std::string& bad) {
    const auto read = parse_certificates(bad);
    if (read.ok() && check_chain(*read, {authority.certificate()}, kIdentityNow).ok()) ++believed;
  });
  EXPECT_EQ(believed, 0);
}

TEST(Identity, OthersCannotReadItsFile) {
  const testing::TemporaryFolder folder;
  const Authority made = *Authority::load_or_make(folder / "authority.pem", kIdentityNow);
  EXPECT_EQ(fs::status(folder / "authority.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Authority read = *Authority::load_or_make(folder / "authority.pem", kIdentityNow);
  EXPECT_EQ(read.certificate().hash(), made.certificate().hash());
  fs::permissions(folder / "authority.pem", fs::perms::group_read, fs::perm_options::add);
  const auto refused = Authority::load_or_make(folder / "authority.pem", kIdentityNow);
  EXPECT_EQ(refused.code(), Code::permission_denied);
  EXPECT_NE(refused.error().message.find("chmod 600 " + (folder / "authority.pem").string()), std::string::npos);
}

TEST(Authority, IsNotMadeByAClockThatCannotBeRight) {
  const testing::TemporaryFolder folder;
  for (const WallTime wrong : {WallTime(), build_day() - hours(1)}) {
    const auto made = Authority::load_or_make(folder / "authority.pem", wrong);
    EXPECT_EQ(made.code(), Code::failed_precondition);
    EXPECT_NE(made.error().message.find("the clock of this machine is wrong"), std::string::npos)
        << made.error().message;
    EXPECT_FALSE(fs::exists(folder / "authority.pem"));
  }
  EXPECT_TRUE(Authority::load_or_make(folder / "authority.pem", build_day()).ok());
}

TEST(Authority, ADamagedFileIsNotReplaced) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(Authority::load_or_make(folder / "authority.pem", kIdentityNow).ok());
  fs::resize_file(folder / "authority.pem", 100);
  EXPECT_EQ(Authority::load_or_make(folder / "authority.pem", kIdentityNow).code(), Code::invalid_argument);
  EXPECT_EQ(fs::file_size(folder / "authority.pem"), 100U);
}

TEST(CertificateRequest, IsReadAsItWasWritten) {
  const PrivateKey key = PrivateKey::make();
  for (const Subject& subject : {kPi, Subject{Role::coordinator, std::string(63, 'x')}}) {
    const auto read = CertificateRequest::parse(CertificateRequest::make(key, subject).pem());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->subject(), subject);
    EXPECT_EQ(read->public_hash(), key.public_hash());
    EXPECT_EQ(*Authority::make(kIdentityNow).sign(*read, subject, kIdentityNow).subject(), subject);
  }
}

TEST(CertificateRequest, IsRefusedWhereItWasChanged) {
  const std::string good = CertificateRequest::make(PrivateKey::make(), kPi).pem();
  const std::size_t first = good.find('\n') + 1, last = good.rfind("\n-----END");
  for (std::size_t at = first; at < last - 4; at += 3) {
    if (good[at] == '\n') continue;
    std::string bad = good;
    bad[at] = bad[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(CertificateRequest::parse(bad).ok()) << at;
  }
  EXPECT_EQ(CertificateRequest::parse("").code(), Code::invalid_argument);
}

TEST(Authority, SaysWhatItWasAskedToSay) {
  const Authority authority = Authority::make(kIdentityNow);
  const auto request = CertificateRequest::make(PrivateKey::make(), {Role::admin, "me"});
  const Certificate signed_one = authority.sign(request, {Role::viewer, "you"}, kIdentityNow);
  EXPECT_EQ(*signed_one.subject(), (Subject{Role::viewer, "you"}));
  EXPECT_EQ(signed_one.public_hash(), request.public_hash());
  EXPECT_NE(signed_one.serial(), authority.sign(request, kPi, kIdentityNow).serial());
}

}  // namespace
}  // namespace mangrove::identity

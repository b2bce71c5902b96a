#include "mangrove/cluster/registrar.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

#include "mangrove/identity/secret_file.h"

namespace mangrove::cluster {
namespace {

using identity::Certificate;
using identity::CertificateRequest;
using identity::JoinString;
using identity::PrivateKey;
using identity::Role;
using identity::Subject;
using std::chrono::days;
using std::chrono::minutes;

const identity::WallTime kRegistrarNow = identity::WallTime(days(30'000));  // after any day on which this is built

struct RegistrarTest : ::testing::Test {
  RegistrarTest() : registrar(std::move(*Registrar::open(folder / "identity", kRegistrarNow))) {}

  JoinString invite(const Invitation& invitation) {
    return *registrar->invite(invitation, "10.0.0.1:7070", kRegistrarNow);
  }
  Result<Certificate> enrol(const JoinString& with, const std::string& name, identity::WallTime now = kRegistrarNow,
                            const PrivateKey& key = PrivateKey::make()) {
    return registrar->enrol(with.id, with.secret, CertificateRequest::make(key, {Role::node, name}), now);
  }
  /// "pi node member, anna client revoked"
  std::string listing(identity::WallTime now = kRegistrarNow) {
    std::string text;
    const std::vector<MemberRecord> members = *registrar->members(now);
    for (const MemberRecord& member : members)
      text += (text.empty() ? "" : ", ") + member.subject.name + " " + role_name(member.subject.role) +
              (member.is_revoked ? " revoked" : " member");
    return text;
  }
  static std::string name_of(const Result<Certificate>& certificate) {
    return certificate.ok() ? certificate->subject()->name : certificate.error().message;
  }

  testing::TemporaryFolder folder;
  std::unique_ptr<Registrar> registrar;
};

TEST_F(RegistrarTest, LetsInWhoIsInvited) {
  const JoinString string = invite({.role = Role::node});
  EXPECT_EQ(string.authority_hash, registrar->authority().certificate().hash());
  EXPECT_EQ(string.address, "10.0.0.1:7070");
  const auto joined = enrol(string, "pi");
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(*joined->subject(), (Subject{Role::node, "pi"}));
  EXPECT_TRUE(identity::check_chain({*joined}, {registrar->authority().certificate()}, kRegistrarNow).ok());
  EXPECT_EQ(listing(), "pi node member");
}

TEST_F(RegistrarTest, AStringWorksAsOftenAsItSays) {
  const JoinString twice = invite({.role = Role::node, .uses = 2});
  EXPECT_TRUE(enrol(twice, "a").ok());
  EXPECT_EQ(registrar->invitations(kRegistrarNow)->at(0).used, 1);
  EXPECT_TRUE(enrol(twice, "b").ok());
  const auto third = enrol(twice, "c");
  EXPECT_EQ(third.code(), Code::permission_denied);
  EXPECT_NE(third.error().message.find("used already, by a and others"), std::string::npos) << third.error().message;
  EXPECT_TRUE(registrar->invitations(kRegistrarNow)->empty());
}

TEST_F(RegistrarTest, AnAnswerThatWasLostIsGivenAgain) {
  const JoinString once = invite({.role = Role::node});
  const PrivateKey key = PrivateKey::make();
  EXPECT_EQ(name_of(enrol(once, "pi", kRegistrarNow, key)), "pi");
  EXPECT_EQ(name_of(enrol(once, "pi", kRegistrarNow, key)), "pi");
  EXPECT_EQ(listing(), "pi node member");
}

TEST_F(RegistrarTest, SaysWhyAStringDoesNotWork) {
  const JoinString string = invite({.role = Role::node, .ttl = minutes(5)});
  const auto late = enrol(string, "pi", kRegistrarNow + minutes(5));
  EXPECT_EQ(late.code(), Code::permission_denied);
  EXPECT_NE(late.error().message.find("expired on " + identity::to_text(kRegistrarNow + minutes(5))), std::string::npos)
      << late.error().message;

  JoinString guessed = string;
  guessed.secret = JoinString::make("", "").secret;
  const auto wrong = enrol(guessed, "pi");
  EXPECT_EQ(wrong.code(), Code::permission_denied);
  EXPECT_NE(wrong.error().message.find("has not made this join string"), std::string::npos) << wrong.error().message;
  guessed = JoinString::make("", "");
  EXPECT_EQ(enrol(guessed, "pi").error().message, wrong.error().message) << "tells which invitations there are";

  ASSERT_TRUE(registrar->revoke(string.id, kRegistrarNow).ok());
  const auto withdrawn = enrol(string, "pi");
  EXPECT_EQ(withdrawn.code(), Code::permission_denied);
  EXPECT_NE(withdrawn.error().message.find("withdrawn"), std::string::npos) << withdrawn.error().message;
  EXPECT_TRUE(registrar->members(kRegistrarNow)->empty());
}

TEST_F(RegistrarTest, AStringForSomebodyElseIsNotUsedUp) {
  const JoinString for_people = invite({.role = Role::viewer});
  const auto node = enrol(for_people, "pi");
  EXPECT_EQ(node.code(), Code::permission_denied);
  EXPECT_NE(node.error().message.find("invites a viewer, not a node"), std::string::npos) << node.error().message;
  const auto person =
      registrar->enrol(for_people.id, for_people.secret,
                       CertificateRequest::make(PrivateKey::make(), {Role::client, "anna"}), kRegistrarNow);
  ASSERT_TRUE(person.ok()) << person.error().message;
  EXPECT_EQ(*person->subject(), (Subject{Role::viewer, "anna"})) << "the invitation decides";
}

TEST_F(RegistrarTest, ANameThatIsTakenGetsANumber) {
  const JoinString string = invite({.role = Role::node, .uses = 3});
  EXPECT_EQ(name_of(enrol(string, "pi")), "pi");
  EXPECT_EQ(name_of(enrol(string, "pi")), "pi-2");
  EXPECT_EQ(name_of(enrol(string, std::string(63, 'x'))), std::string(63, 'x'));
  const JoinString more = invite({.role = Role::node, .uses = 2});
  EXPECT_EQ(name_of(enrol(more, std::string(63, 'x'))), std::string(61, 'x') + "-2");
  ASSERT_TRUE(registrar->revoke("pi", kRegistrarNow).ok());
  EXPECT_EQ(name_of(enrol(more, "pi")), "pi-3") << "jobs may still belong to the one that is out";
}

// Jobs and models belong to names: a newcomer must not get those of somebody who is away.
TEST_F(RegistrarTest, ANameStaysWithWhoHadIt) {
  const PrivateKey key = PrivateKey::make();
  ASSERT_EQ(name_of(enrol(invite({.role = Role::node}), "pi", kRegistrarNow, key)), "pi");
  const auto invite_later = [&](const std::string& name = "") {
    return *registrar->invite({.role = Role::node, .name = name}, "", kRegistrarNow + days(200));
  };
  for (const char* when : {"a certificate has expired", "the coordinator was started again"}) {
    EXPECT_NE(name_of(enrol(invite_later(), "pi", kRegistrarNow + days(200))), "pi") << when;
    registrar.reset();
    registrar = std::move(*Registrar::open(folder / "identity", kRegistrarNow + days(200)));
  }
  EXPECT_EQ(name_of(enrol(invite_later(), "pi", kRegistrarNow + days(200), key)), "pi") << "it has its key still";
  EXPECT_EQ(name_of(enrol(invite_later("pi"), "whatever", kRegistrarNow + days(200))), "pi") << "an admin hands it on";
  EXPECT_NE(name_of(enrol(invite_later(), "pi", kRegistrarNow + days(200), key)), "pi") << "it is another's now";
}

TEST_F(RegistrarTest, TakesUpTheBooksOfOlderPrograms) {
  const JoinString used = invite({.role = Role::node});
  ASSERT_EQ(name_of(enrol(used, "pi")), "pi");
  ASSERT_EQ(name_of(enrol(invite({.role = Role::node}), "gone")), "gone");
  ASSERT_TRUE(registrar->revoke("gone", kRegistrarNow).ok());
  registrar.reset();
  {
    Database books = *Database::open(folder / "identity" / "members.db");
    for (const char* sql : {"DROP TABLE names", "ALTER TABLE invitations DROP COLUMN used", "PRAGMA user_version = 0"})
      ASSERT_TRUE(books.run(sql).ok()) << sql;
  }
  registrar = std::move(*Registrar::open(folder / "identity", kRegistrarNow));
  EXPECT_EQ(listing(), "pi node member, gone node revoked");
  EXPECT_NE(name_of(enrol(used, "thief")).find("used already, by pi"), std::string::npos);
  const JoinString more = invite({.role = Role::node, .uses = 2});
  EXPECT_EQ(name_of(enrol(more, "pi")), "pi-2");
  EXPECT_EQ(name_of(enrol(more, "gone")), "gone-2");
  registrar.reset();
  ASSERT_TRUE(Database::open(folder / "identity" / "members.db")->run("PRAGMA user_version = 99").ok());
  EXPECT_EQ(Registrar::open(folder / "identity", kRegistrarNow).code(), Code::unimplemented);
}

TEST_F(RegistrarTest, ANameThatTheInvitationSaysIsTakenOver) {
  const auto first = enrol(invite({.role = Role::node, .name = "pi"}), "whatever");
  EXPECT_EQ(name_of(first), "pi");
  const auto second = enrol(invite({.role = Role::node, .name = "pi"}), "whatever");
  EXPECT_EQ(name_of(second), "pi");
  EXPECT_TRUE(registrar->is_revoked(first->serial()));
  EXPECT_FALSE(registrar->is_revoked(second->serial()));
}

TEST_F(RegistrarTest, ANameOfAnotherRoleIsNotTakenOver) {
  const auto coordinator = registrar->issue({Role::coordinator, "coordinator"}, kRegistrarNow);
  ASSERT_TRUE(coordinator.ok());
  const auto invited = registrar->invite({.role = Role::node, .name = "coordinator"}, "", kRegistrarNow);
  EXPECT_EQ(invited.code(), Code::already_exists);
  EXPECT_NE(invited.error().message.find("the coordinator of that name"), std::string::npos) << invited.error().message;
  // nor if it had been invited before there was one
  const JoinString early = invite({.role = Role::node, .name = "anna"});
  const auto anna = registrar->issue({Role::admin, "anna"}, kRegistrarNow);
  EXPECT_EQ(enrol(early, "whatever").code(), Code::already_exists) << "else the two would be revoked together";
  EXPECT_FALSE(registrar->is_revoked(anna->certificate().serial()));
}

TEST_F(RegistrarTest, RefusesInvitationsThatMakeNoSense) {
  for (const Invitation& wrong :
       {Invitation{.role = Role::coordinator}, Invitation{.name = "a b"}, Invitation{.ttl = minutes(0)},
        Invitation{.ttl = days(31)}, Invitation{.uses = 0}, Invitation{.name = "pi", .uses = 2}})
    EXPECT_EQ(registrar->invite(wrong, "", kRegistrarNow).code(), Code::invalid_argument);
}

TEST_F(RegistrarTest, RevokesAMemberAndSaysWhoIsNone) {
  const auto pi = enrol(invite({.role = Role::node}), "pi");
  EXPECT_FALSE(registrar->is_revoked(pi->serial()));
  ASSERT_TRUE(registrar->revoke("pi", kRegistrarNow).ok());
  EXPECT_TRUE(registrar->is_revoked(pi->serial()));
  EXPECT_EQ(listing(), "pi node revoked");
  ASSERT_TRUE(enrol(invite({.role = Role::node}), "pj").ok());
  const Status unknown = registrar->revoke("pk", kRegistrarNow);
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_NE(unknown.error().message.find("'pj'"), std::string::npos) << unknown.error().message;
  ASSERT_TRUE(registrar->issue({Role::coordinator, "coordinator"}, kRegistrarNow).ok());
  EXPECT_EQ(registrar->revoke("coordinator", kRegistrarNow).code(), Code::failed_precondition);
}

TEST_F(RegistrarTest, WhoWasRevokedDoesNotComeBackWithItsOwnString) {
  const JoinString three = invite({.role = Role::node, .uses = 3}), other = invite({.role = Role::node, .uses = 2});
  ASSERT_TRUE(enrol(three, "pi").ok());
  ASSERT_TRUE(registrar->revoke("pi", kRegistrarNow).ok());
  EXPECT_NE(name_of(enrol(three, "pj")).find("withdrawn"), std::string::npos);
  EXPECT_EQ(registrar->invitations(kRegistrarNow)->size(), 1U) << "that of others stays";
  // nor one whose name was taken over
  ASSERT_EQ(name_of(enrol(other, "old")), "old");
  ASSERT_EQ(name_of(enrol(invite({.role = Role::node, .name = "old"}), "new")), "old");
  EXPECT_NE(name_of(enrol(other, "pj")).find("withdrawn"), std::string::npos);
}

TEST_F(RegistrarTest, KnowsEverythingAgainAfterARestart) {
  const std::string authority = registrar->authority().certificate().hash();
  const auto gone = enrol(invite({.role = Role::node}), "gone");
  const JoinString open = invite({.role = Role::node});
  ASSERT_TRUE(registrar->revoke("gone", kRegistrarNow).ok());
  registrar.reset();
  registrar = std::move(*Registrar::open(folder / "identity", kRegistrarNow));
  EXPECT_EQ(registrar->authority().certificate().hash(), authority);
  EXPECT_TRUE(registrar->is_revoked(gone->serial()));
  EXPECT_EQ(name_of(enrol(open, "pi")), "pi");
}

TEST_F(RegistrarTest, ListsNoneThatHaveExpired) {
  ASSERT_TRUE(enrol(invite({.role = Role::node}), "pi").ok());
  EXPECT_EQ(listing(kRegistrarNow + days(31)), "");
}

// A board without a battery clock may show any time at one start, and the right one at the next.
TEST_F(RegistrarTest, AClockThatIsAheadOnceBringsNothingBack) {
  const auto gone = enrol(invite({.role = Role::node}), "gone");
  const auto there = enrol(invite({.role = Role::node}), "there");
  const JoinString used = invite({.role = Role::node, .ttl = days(30)}), open = invite({.role = Role::node});
  ASSERT_TRUE(enrol(used, "pi").ok());
  ASSERT_TRUE(registrar->revoke("gone", kRegistrarNow).ok());
  for (const auto ahead : {days(31), days(100), days(4000)}) {
    registrar.reset();
    registrar = std::move(*Registrar::open(folder / "identity", kRegistrarNow + ahead));
  }
  ASSERT_TRUE(registrar->revoke("there", kRegistrarNow + days(4000)).ok());
  registrar.reset();
  registrar = std::move(*Registrar::open(folder / "identity", kRegistrarNow));
  EXPECT_TRUE(registrar->is_revoked(gone->serial()));
  EXPECT_TRUE(registrar->is_revoked(there->serial()));
  EXPECT_NE(name_of(enrol(used, "thief")).find("used already, by pi"), std::string::npos);
  EXPECT_EQ(name_of(enrol(open, "late")), "late");
}

TEST_F(RegistrarTest, ForgetsWhatHasExpiredLongAgoAndNotWhatWasRevoked) {
  const auto gone = enrol(invite({.role = Role::node}), "gone");
  const JoinString used = invite({.role = Role::node});
  ASSERT_TRUE(enrol(used, "pi").ok());
  ASSERT_TRUE(registrar->revoke("gone", kRegistrarNow).ok());
  ASSERT_TRUE(registrar->issue({Role::coordinator, "coordinator"}, kRegistrarNow + days(100)).ok());
  registrar.reset();
  registrar = std::move(*Registrar::open(folder / "identity", kRegistrarNow + days(100)));
  EXPECT_TRUE(registrar->is_revoked(gone->serial()));
  EXPECT_NE(name_of(enrol(used, "thief")).find("has not made this join string"), std::string::npos);
  EXPECT_EQ(registrar->revoke("pi", kRegistrarNow + days(100)).code(), Code::not_found);
}

TEST_F(RegistrarTest, RenewsAMemberAsItIs) {
  const auto pi = enrol(invite({.role = Role::node}), "pi");
  const PrivateKey key = PrivateKey::make();
  const auto later = kRegistrarNow + days(20);
  const auto renewed =
      registrar->renew(*pi->subject(), pi->serial(), CertificateRequest::make(key, {Role::node, "pi"}), later);
  ASSERT_TRUE(renewed.ok()) << renewed.error().message;
  EXPECT_EQ(renewed->public_hash(), key.public_hash());
  EXPECT_EQ(renewed->valid_to(), later + days(30));
  EXPECT_EQ(listing(later), "pi node member");
  const auto higher =
      registrar->renew(*pi->subject(), pi->serial(), CertificateRequest::make(key, {Role::admin, "pi"}), later);
  EXPECT_EQ(higher.code(), Code::permission_denied);
  ASSERT_TRUE(registrar->revoke("pi", later).ok());
  EXPECT_TRUE(registrar->is_revoked(pi->serial()));
  EXPECT_TRUE(registrar->is_revoked(renewed->serial())) << "all of its certificates";
  const auto too_late =
      registrar->renew(*pi->subject(), pi->serial(), CertificateRequest::make(key, {Role::node, "pi"}), later);
  EXPECT_EQ(too_late.code(), Code::permission_denied);
}

TEST_F(RegistrarTest, AMemberCannotFillTheBooksByRenewing) {
  const auto pi = enrol(invite({.role = Role::node}), "pi");
  const auto renew = [&](const Certificate& shown, identity::WallTime now) {
    return registrar->renew(*shown.subject(), shown.serial(),
                            CertificateRequest::make(PrivateKey::make(), {Role::node, "pi"}), now);
  };
  const auto young = renew(*pi, kRegistrarNow + days(14));
  ASSERT_FALSE(young.ok());
  EXPECT_EQ(young.code(), Code::failed_precondition) << young.error().message;
  const auto later = kRegistrarNow + days(16);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(renew(*pi, later).ok()) << "the answer may have been lost";
  const auto fifth = renew(*pi, later);
  ASSERT_FALSE(fifth.ok());
  EXPECT_EQ(fifth.code(), Code::resource_exhausted) << fifth.error().message;
  const auto next_day = renew(*pi, later + days(1));
  ASSERT_TRUE(next_day.ok()) << next_day.error().message;
  const auto next_month = renew(*next_day, later + days(22));
  EXPECT_TRUE(next_month.ok());
  EXPECT_TRUE(renew(*next_month, later + days(22) + days(80)).ok());
  // all that expired long before are forgotten
  registrar.reset();
  const auto left = Database::open(folder / "identity" / "members.db")->run("SELECT COUNT(*) FROM certificates");
  EXPECT_EQ(integer(left->at(0), 0), 1);
}

// Else all that it signs has ended before it begins, and no member gets in any more.
TEST_F(RegistrarTest, SignsNothingWhereTheClockCannotBeRight) {
  const JoinString string = invite({.role = Role::node});
  for (const auto& [wrong, said] : {std::pair(identity::WallTime(), "1970-01-01"),
                                    {kRegistrarNow - days(100), "is the clock"},
                                    {kRegistrarNow + days(3700), "is the clock right?"}}) {
    const auto made = registrar->issue({Role::coordinator, "coordinator"}, wrong);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.code(), Code::failed_precondition);
    EXPECT_NE(made.error().message.find(said), std::string::npos) << made.error().message;
  }
  EXPECT_FALSE(enrol(string, "pi", identity::WallTime()).ok());
  EXPECT_EQ(name_of(enrol(string, "pi")), "pi") << "it is not used up";
}

TEST_F(RegistrarTest, KeepsNoSecretOfAnInvitation) {
  const JoinString string = invite({.role = Role::node});
  registrar.reset();
  for (const fs::directory_entry& file : fs::directory_iterator(folder / "identity"))
    EXPECT_EQ(read_file(file.path())->find(string.secret), std::string::npos) << file.path();
  EXPECT_EQ(fs::status(folder / "identity").permissions(), fs::perms::owner_all);
}

std::vector<Certificate> authorities_of(const Registrar::Believed& believed) {
  return *identity::parse_certificates(believed.authorities);
}

TEST_F(RegistrarTest, AnAuthorityIsFollowedByAnotherAndDroppedLater) {
  const Certificate first = registrar->authority().certificate();
  const JoinString before = invite({.role = Role::node});
  const auto dropped = registrar->replace_authority(kRegistrarNow);
  ASSERT_TRUE(dropped.ok()) << dropped.error().message;
  const Certificate second = registrar->authority().certificate();
  EXPECT_NE(second.hash(), first.hash());
  EXPECT_EQ(invite({.role = Role::node}).authority_hash, second.hash());
  const auto joined = enrol(before, "pi");
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  // whoever believes one of them believes the newcomer
  const Registrar::Believed believed = registrar->believed(kRegistrarNow);
  const Certificate between = identity::parse_certificates(believed.between)->front();
  EXPECT_TRUE(identity::check_chain({*joined, between, second}, {first}, kRegistrarNow).ok());
  EXPECT_TRUE(identity::check_chain({*joined, between, first}, {second}, kRegistrarNow).ok());
  EXPECT_FALSE(identity::check_chain({*joined}, {first}, kRegistrarNow).ok());
  ASSERT_EQ(authorities_of(believed).size(), 2U);
  EXPECT_EQ(authorities_of(believed).front().hash(), second.hash());
  // one after the other
  EXPECT_EQ(registrar->replace_authority(*dropped - minutes(1)).code(), Code::failed_precondition);
  const auto reopen = [&] {
    registrar.reset();
    auto opened = Registrar::open(folder / "identity", kRegistrarNow);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    registrar = std::move(*opened);
  };
  reopen();
  EXPECT_EQ(registrar->authority().certificate().hash(), second.hash());
  EXPECT_EQ(authorities_of(registrar->believed(kRegistrarNow)).size(), 2U);
  EXPECT_GE(*dropped, kRegistrarNow + identity::kLifetime) << "what it has signed is believed as long as it lives";
  EXPECT_EQ(authorities_of(registrar->believed(*dropped)).size(), 1U);
  EXPECT_EQ(registrar->believed(*dropped).between, "");
  EXPECT_TRUE(registrar->replace_authority(*dropped).ok());
  // one that was broken off in the middle has not happened
  const auto kept = identity::read_secret_file(folder / "identity/authority.pem");
  const std::string third = registrar->authority().certificate().hash();
  ASSERT_TRUE(registrar->replace_authority(*dropped + days(60)).ok());
  ASSERT_TRUE(write_private_file(folder / "identity/authority.pem", *kept).ok());
  reopen();
  EXPECT_EQ(registrar->authority().certificate().hash(), third);
  EXPECT_EQ(registrar->believed(*dropped).between, "");
}

}  // namespace
}  // namespace mangrove::cluster

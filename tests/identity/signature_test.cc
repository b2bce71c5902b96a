#include "mangrove/identity/signature.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/base/temporary_folder.h"
#include "tests/identity/changed_pem.h"

namespace mangrove::identity {
namespace {

using std::chrono::days;
using std::chrono::hours;

const WallTime kSignatureNow = WallTime(days(30'000));
const Subject kClara{Role::client, "clara"};
const std::string kText = "model: 0123\n";

struct SignatureTest : ::testing::Test {
  const Authority authority = Authority::make(kSignatureNow);
  const Identity clara = Identity::make(authority, kClara, kSignatureNow);
};

std::string why(const std::string& signature) {
  const auto parsed = SignedText::parse(signature);
  if (parsed.ok()) return "";
  EXPECT_EQ(parsed.code(), Code::invalid_argument);
  return parsed.error().message;
}

TEST_F(SignatureTest, SaysWhatWasSignedByWhomAndWhen) {
  for (const std::string& text : {kText, std::string(), std::string("\r\n\0x", 4), std::string(9000, 'a')}) {
    const auto read = SignedText::parse(*sign_text(clara, text, kSignatureNow + hours(1)));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->text, text);
    EXPECT_EQ(read->signer, kClara);
    EXPECT_EQ(read->time, kSignatureNow + hours(1));
    EXPECT_TRUE(read->check({authority.certificate()}).ok());
  }
}

TEST_F(SignatureTest, OfAnotherAuthorityIsNotTrusted) {
  const SignedText read = *SignedText::parse(*sign_text(clara, kText, kSignatureNow));
  const Status refused = read.check({Authority::make(kSignatureNow).certificate()});
  EXPECT_EQ(refused.code(), Code::permission_denied);
  EXPECT_NE(refused.error().message.find("mangrove://client/clara is not trusted"), std::string::npos);
  EXPECT_NE(refused.error().message.find("another certificate authority"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(read.check({}).ok());
}

TEST_F(SignatureTest, CountsByTheTimeAtWhichItWasMade) {
  const auto made_at = [&](WallTime time) {
    return SignedText::parse(*sign_text(clara, kText, time))->check({authority.certificate()});
  };
  ASSERT_LT(clara.certificate().valid_to(), kSignatureNow + days(31));
  // whenever this test runs, the certificate is not valid then
  EXPECT_TRUE(made_at(kSignatureNow + days(29)).ok()) << "what was signed in time stays so";
  EXPECT_NE(made_at(kSignatureNow + days(31)).error().message.find("has expired"), std::string::npos);
  EXPECT_NE(made_at(kSignatureNow - days(1)).error().message.find("valid from"), std::string::npos);
}

TEST_F(SignatureTest, BringsTheCertificatesUpToTheAuthority) {
  const Authority next = Authority::make(kSignatureNow);
  const std::string above = authority.vouch_for(next, kSignatureNow)->pem();
  const Identity bob = Identity::make(next, {Role::client, "bob"}, kSignatureNow);
  const auto with_chain = Identity::parse(bob.key().pem() + bob.certificate().pem() + above + next.certificate().pem());
  ASSERT_TRUE(with_chain.ok()) << with_chain.error().message;
  const SignedText read = *SignedText::parse(*sign_text(*with_chain, kText, kSignatureNow));
  EXPECT_EQ(read.signer.name, "bob");
  EXPECT_TRUE(read.check({authority.certificate()}).ok()) << read.check({authority.certificate()}).error().message;
}

TEST_F(SignatureTest, EveryByteCounts) {
  const std::string good = *sign_text(clara, kText, kSignatureNow);
  int believed = 0;
  change_each(good, [&](const std::string& bad) {
    const auto read = SignedText::parse(bad);
    // some bytes say how something is written, and not what
    if (read.ok() && read->check({authority.certificate()}).ok() && (read->text != kText || read->signer != kClara))
      ++believed;
  });
  EXPECT_EQ(believed, 0);
}

TEST_F(SignatureTest, WhatIsNoneIsRefused) {
  const std::string good = *sign_text(clara, kText, kSignatureNow);
  for (const std::string& bad :
       {std::string(), std::string("nothing"), std::string("\0\0", 2), good.substr(0, 600), clara.certificate().pem(),
        std::string("-----BEGIN CMS-----\nAAAA\n-----END CMS-----\n"),
        std::string("-----BEGIN CMS-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n")})
    EXPECT_NE(why(bad).find("this is no signature"), std::string::npos) << bad << "\n" << why(bad);
  EXPECT_NE(why(good + std::string(kLongestSignature, ' ')).find("are the most"), std::string::npos);
}

TEST_F(SignatureTest, OfWhoIsNoMemberIsRefused) {
  const testing::TemporaryFolder folder;
  const std::string key = (folder / "key.pem").string(), certificate = (folder / "own.pem").string();
  const std::string command =
      "openssl req -x509 -config /dev/null -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
      "-subj /CN=stranger -keyout " +
      key + " -out " + certificate + " 2>/dev/null && " +
      "printf 'model: 0123' | openssl cms -sign -binary -nodetach -md sha256 -outform PEM " + "-signer " + certificate +
      " -inkey " + key + " -out " + (folder / "sig").string();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "the program openssl is not here";
  EXPECT_NE(why(*read_file(folder / "sig")).find("mangrove://ROLE/NAME"), std::string::npos)
      << why(*read_file(folder / "sig"));
}

TEST_F(SignatureTest, IsCheckedByOtherPrograms) {
  const testing::TemporaryFolder folder;
  const Authority today = Authority::make(wall_now());
  const Identity bob = Identity::make(today, {Role::client, "bob"}, wall_now());
  const WallTime now = wall_now();
  const std::string signature = *sign_text(bob, kText, now);
  EXPECT_EQ(SignedText::parse(signature)->time, now);
  ASSERT_TRUE(write_private_file(folder / "sig", signature).ok());
  ASSERT_TRUE(write_private_file(folder / "ours", today.certificate().pem()).ok());
  ASSERT_TRUE(write_private_file(folder / "others", authority.certificate().pem()).ok());
  const auto verify = [&](const char* authority_file) {
    const std::string command = "openssl cms -verify -binary -inform PEM -purpose any -in " +
                                (folder / "sig").string() + " -CAfile " + (folder / authority_file).string() +
                                " -out " + (folder / "text").string() + " 2>/dev/null";
    return std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  };
  if (std::system("openssl version >/dev/null 2>&1") != 0)  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "the program openssl is not here";
  EXPECT_EQ(verify("ours"), 0);
  EXPECT_EQ(*read_file(folder / "text"), kText);
  EXPECT_NE(verify("others"), 0);
}

}  // namespace
}  // namespace mangrove::identity

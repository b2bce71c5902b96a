#include "mangrove/cluster/model_signature.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/identity/digest.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cluster {
namespace {

using identity::Identity;
using identity::Role;

const char* const kClara = "mangrove://client/clara";

std::string signed_by(const identity::Authority& authority, Role role) {
  return *sign_model(Identity::make(authority, {role, "one"}, identity::wall_now()), "network", "job-1", kClara);
}

TEST(ModelSignature, SaysWhichJobOfWhomHasLeftTheNetwork) {
  const auto read = ModelSignature::parse(signed_by(test_authority(), Role::coordinator));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->job, "job-1");
  EXPECT_EQ(read->owner, kClara);
  EXPECT_EQ(read->by.signer.name, "one");
  EXPECT_TRUE(read->check_fits("network").ok());
  EXPECT_TRUE(read->check_signer({test_authority().certificate()}).ok());
}

TEST(ModelSignature, FitsNoOtherNetwork) {
  const auto read = ModelSignature::parse(signed_by(test_authority(), Role::coordinator));
  const Status other = read->check_fits("network ");
  EXPECT_EQ(other.code(), Code::invalid_argument);
  for (const char* network : {"network", "network "})
    EXPECT_NE(other.error().message.find(identity::sha256(network)), std::string::npos) << other.error().message;
}

TEST(ModelSignature, IsOfACoordinatorOfOnesOwnCluster) {
  const auto check = [](const std::string& signature) {
    return ModelSignature::parse(signature)->check_signer({test_authority().certificate()});
  };
  EXPECT_EQ(check(signed_by(test_authority(), Role::client)).code(), Code::permission_denied);
  const auto other = identity::Authority::make(identity::wall_now());
  EXPECT_EQ(check(signed_by(other, Role::coordinator)).code(), Code::permission_denied);
}

TEST(ModelSignature, IsNotThatOfSomethingElse) {
  const auto coordinator = Identity::make(test_authority(), {Role::coordinator, "one"}, identity::wall_now());
  for (const char* text : {"", "mangrove trained network", "mangrove trained network\njob: 1\nsha256: 2\nowner: 3\n",
                           "mangrove trained networks\nsha256: 1\njob: 2\nowner: 3\n"}) {
    const auto read = ModelSignature::parse(*sign_text(coordinator, text, identity::wall_now()));
    EXPECT_EQ(read.code(), Code::invalid_argument) << text;
  }
  EXPECT_EQ(ModelSignature::parse("nonsense").code(), Code::invalid_argument);
}

TEST(ModelSignature, ComesWithTheResultAndIsKeptWithIt) {
  const testing::TemporaryFolder folder;
  const TestCluster cluster(1, TestCluster::kMisses, scripted_role, folder / "state");
  RunningJob job(cluster, scripted_job("echo"));
  EXPECT_TRUE(job.wait().ok());
  std::vector<Report> results = job.reports("result");
  const std::string id = cluster.client()->jobs()->at(0).id();
  const auto fetched = cluster.client()->follow(id, [&](const Report& report) { results.push_back(report); }, {});
  EXPECT_TRUE(fetched.ok());
  ASSERT_EQ(results.size(), 2U);
  for (const Report& result : results) {
    const auto facts = job::parse_json<ModelFacts>(result.json);
    ASSERT_TRUE(facts.ok() && facts->signature) << result.json;
    const auto signature = ModelSignature::parse(*facts->signature);
    ASSERT_TRUE(signature.ok()) << signature.error().message;
    EXPECT_EQ(signature->job, id);
    EXPECT_EQ(signature->owner, "mangrove://client/somebody");
    EXPECT_TRUE(signature->check_fits(result.attachment).ok());
    EXPECT_TRUE(signature->check_signer({test_authority().certificate()}).ok());
  }
}

}  // namespace
}  // namespace mangrove::cluster

// Networks that a coordinator has signed: `mangrove model verify`, and what is refused where a network is used.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/sanitizer.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/separate_processes.h"

#include "mangrove/cluster/model_signature.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/identity/authority.h"
#include "mangrove/identity/store.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using identity::Authority;
using identity::Identity;
using identity::Role;
using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::SeparateProcesses;
using testing::TemporaryFolder;
using testing::text_of;

const char* const kClara = "mangrove://client/clara";

/// A user who is a client of a cluster, and a network that its coordinator has signed.
struct ModelVerify : ::testing::Test {
  void SetUp() override {
    const identity::IdentityStore store(folder / "home/mangrove/identities");
    ASSERT_TRUE(store.save(Identity::make(authority, {Role::client, "clara"}, identity::wall_now())).ok());
    ASSERT_TRUE(save_onnx(*zoo::build_model("lenet", {}), model).ok());
    sign(authority, Role::coordinator);
  }
  void sign(const Authority& by, Role role) const {
    const Identity signer = Identity::make(by, {role, "one"}, identity::wall_now());
    ASSERT_TRUE(write_private_file(model + ".sig", *cluster::sign_model(signer, text_of(model), "job-1", kClara)).ok());
  }
  Finished run(std::vector<std::string> words, const std::string& home = "home") const {
    words.insert(words.begin(), {program(), "model"});
    return run_program(std::move(words), 60, {"XDG_CONFIG_HOME=" + (folder / home).string()});
  }
  void expect_failure(const std::string& reason) const {
    const Finished failed = run({"verify", model});
    EXPECT_EQ(failed.status, 1);
    EXPECT_NE(failed.out.find(model), std::string::npos) << failed.out;
    EXPECT_NE(failed.out.find(reason), std::string::npos) << failed.out;
  }

  const TemporaryFolder folder;
  const std::string model = (folder / "model.onnx").string();
  const Authority authority = Authority::make(identity::wall_now());
};

TEST_F(ModelVerify, SaysWhoHasSignedAndForWhichJob) {
  const Finished verified = run({"verify", model});
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  EXPECT_NE(verified.out.find("signed by mangrove://coordinator/one on 2"), std::string::npos) << verified.out;
  EXPECT_NE(verified.out.find("left by job-1 of mangrove://client/clara\n"), std::string::npos) << verified.out;
}

TEST_F(ModelVerify, OneThatFailsIsNamedBesideThoseThatDoNot) {
  const Finished run_with_both = run({"verify", model, (folder / "none.onnx").string(), "--json"});
  EXPECT_EQ(run_with_both.status, 1);
  const json files = json::parse(run_with_both.out)["files"];
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0]["verified"], true);
  EXPECT_EQ(files[0]["job"], "job-1");
  EXPECT_EQ(files[0]["owner"], kClara);
  EXPECT_EQ(files[0]["signer"], "mangrove://coordinator/one");
  EXPECT_EQ(files[0]["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(files[1]["verified"], false);
  EXPECT_NE(files[1]["error"].get<std::string>().find("none.onnx"), std::string::npos);
}

TEST_F(ModelVerify, WhatDoesNotFitFails) {
  sign(authority, Role::client);
  expect_failure("only a coordinator signs");
  sign(Authority::make(identity::wall_now()), Role::coordinator);
  expect_failure("another certificate authority");
  fs::remove(model + ".sig");
  expect_failure("it has no signature");
  ASSERT_TRUE(write_private_file(model + ".sig", "nonsense").ok());
  expect_failure("this is no signature");
  sign(authority, Role::coordinator);
  ASSERT_TRUE(write_private_file(model, text_of(model) + " ").ok());
  expect_failure("it is another network than mangrove://coordinator/one has signed: expected SHA-256 ");
}

TEST_F(ModelVerify, WhoIsNoMemberNamesTheAuthority) {
  const Finished stranger = run({"verify", model}, "nobody");
  EXPECT_EQ(stranger.status, 1);
  EXPECT_NE(stranger.err.find("--authority FILE"), std::string::npos) << stranger.err;
  const std::string file = (folder / "authority.pem").string();
  ASSERT_TRUE(write_private_file(file, authority.certificate().pem()).ok());
  EXPECT_EQ(run({"verify", model, "--authority", file}, "nobody").status, 0);
  ASSERT_TRUE(write_private_file(file, Authority::make(identity::wall_now()).certificate().pem()).ok());
  EXPECT_EQ(run({"verify", model, "--authority", file}).status, 1) << "no other one is trusted then";
}

TEST_F(ModelVerify, ANetworkThatIsNotTheSignedOneIsNotUsed) {
  EXPECT_EQ(run({"show", model}).status, 0);
  ASSERT_TRUE(save_onnx(*zoo::build_model("lenet", {.seed = 2}), model).ok());
  const Finished refused = run({"show", model});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("if the change was yours, remove the signature: rm " + model + ".sig"), std::string::npos)
      << refused.err;
  fs::remove(model + ".sig");
  EXPECT_EQ(run({"show", model}).status, 0);
}

/// A cluster with certificates, of real processes.
struct SignedTraining : SeparateProcesses {
  void SetUp() override {
    MG_SKIP_IF_SANITIZED("processes in real time; ModelSignature has the same under a sanitizer");
    start_secure_coordinator("127.0.0.1:0", folder / "state");
  }
  Finished train(const std::vector<std::string>& where) const {
    std::vector<std::string> words{program(), "train",   "--model", "lenet",     "--data", "glyphs",  "--epochs",
                                   "1",       "--limit", "64",      "--run-dir", run,      "--quiet", "--json"};
    words.insert(words.end(), where.begin(), where.end());
    return run_program(std::move(words), 120);
  }

  const TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  const fs::path signature = run + "/model.onnx.sig";
};

TEST_F(SignedTraining, LeavesASignatureWhereItCanBeCheckedLater) {
  const auto node = start_node("pi");
  ready_line(*node);
  const Finished trained = train({"--coordinator", address});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_FALSE(json::parse(trained.out).contains("signature"));
  EXPECT_EQ(fs::status(signature).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Finished verified = run_program({program(), "model", "verify", run + "/model.onnx", "--json"});
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  const json jobs = json::parse(run_program({program(), "jobs", "--coordinator", address, "--json"}).out);
  EXPECT_EQ(json::parse(verified.out)["files"][0]["job"], jobs["jobs"][0]["id"]);
  // a job that begins with this network, too
  const Finished classified = run_program({program(), "infer", "--model", run + "/model.onnx", "--data", "glyphs",
                                           "--limit", "50", "--coordinator", address, "--run-dir", folder / "infer"},
                                          120);
  EXPECT_EQ(classified.status, 0) << classified.err;
  // the authority of a cluster that ends with the command is forgotten, and the old signature is not of this network
  ASSERT_EQ(train({"--local", "1"}).status, 0);
  EXPECT_FALSE(fs::exists(signature));
}

}  // namespace
}  // namespace mangrove

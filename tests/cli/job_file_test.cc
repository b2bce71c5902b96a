#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

#include "mangrove/base/config_file.h"
#include "mangrove/cli/settings.h"

namespace mangrove::cli {
namespace {

const ConfigFile::Kind kJobFile = {"job file", {"train", "infer"}, "train"};

TEST(JobFile, CommonKeysHoldForEverySectionThatHasThem) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(
      write_file_atomically(folder / "job.yaml", "data: glyphs\nepochs: 4\ntrain:\n  epochs: 5\ninfer:\n  stages: 2\n")
          .ok());
  const auto file = ConfigFile::load(folder / "job.yaml", kJobFile);
  ASSERT_TRUE(file.ok()) << file.error().message;
  TrainSettings train;
  InferSettings infer;
  ASSERT_EQ(file->sections().size(), 2u);
  ASSERT_TRUE(file->apply(file->sections()[0], train.keys()).ok());
  ASSERT_TRUE(file->apply(file->sections()[1], infer.keys()).ok());
  EXPECT_EQ(train.data.data, "glyphs");
  EXPECT_EQ(train.job.epochs(), 5) << "a section's own key wins";
  EXPECT_EQ(infer.data.data, "glyphs");
  EXPECT_EQ(infer.job.stages(), 2);
}

TEST(JobFile, AKeyThatNoStrategyReadsIsRefused) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "job.yaml";
  const auto check = [&](const std::string& text) -> std::string {
    EXPECT_TRUE(write_file_atomically(path, text).ok());
    const auto file = ConfigFile::load(path, kJobFile);
    if (!file.ok()) return file.error().message;
    TrainSettings train;
    InferSettings infer;
    const std::vector<Keys> keys = {train.keys(), infer.keys()};
    EXPECT_TRUE(file->apply(file->sections()[0], keys[0]).ok());
    EXPECT_TRUE(file->apply(file->sections()[1], keys[1]).ok());
    const Status status = file->check_read(keys);
    return status.ok() ? "" : status.error().message.substr(path.string().size());
  };
  EXPECT_EQ(check("train:\n  topology: tree\n  strategy: all_reduce\ninfer:\n  stages: 2\n"), "");
  EXPECT_EQ(check("stages: 2\ntrain:\n  epochs: 2\ninfer:\n  micro_batch: 2\n"), "") << "infer reads it";
  EXPECT_EQ(check("train:\n  stages: 2\ninfer:\n  stages: 2\n"),
            ":2: key 'stages': strategy 'parameter_server' has no such key; it belongs to gpipe, one_f_one_b and "
            "pipedream");
  EXPECT_EQ(check("stages: 2\ntrain:\n  epochs: 2\ninfer:\n  strategy: single\n"),
            ":1: key 'stages': strategy 'single' has no such key; it belongs to pipeline");
  EXPECT_EQ(check("train:\n  epochs: 2\ninfer:\n  tiers: t.yaml\n  policy: monitor\n"), "")
      << "a tier file chooses the strategy";
}

TEST(JobFile, SavedSettingsAreReadBack) {
  const testing::TemporaryFolder folder;
  TrainSettings from, to;
  from.model = "strange: name #1";
  from.job.set_weight_decay(1e-7F);
  ASSERT_TRUE(write_file_atomically(folder / "job.yaml", to_yaml("train", from.keys())).ok());
  const auto file = ConfigFile::load(folder / "job.yaml", kJobFile);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->apply(file->sections()[0], to.keys()).ok());
  EXPECT_EQ(to.model, from.model);
  EXPECT_EQ(to.job.weight_decay(), from.job.weight_decay());
  EXPECT_TRUE(file->check_read({to.keys()}).ok()) << "keys of other strategies are not saved";
}

struct BadJobFileCase {
  const char* name;
  const char* text;
  const char* message;  // after the file's path
};

class BadJobFile : public ::testing::TestWithParam<BadJobFileCase> {};

TEST_P(BadJobFile, IsNamedWithItsLine) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder / "job.yaml";
  ASSERT_TRUE(write_file_atomically(path, GetParam().text).ok());
  Status status;
  const auto file = ConfigFile::load(path, kJobFile);
  if (!file.ok()) {
    status = file.error();
  } else {
    TrainSettings settings;
    status = file->apply(file->sections()[0], settings.keys());
    if (status.ok()) status = file->check_common(settings.keys().names());
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.error().message, path.string() + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    JobFile, BadJobFile,
    ::testing::Values(
        BadJobFileCase{"unknown_key", "train:\n  epochs: 1\n  bacth: 3\n",
                       ":3: unknown key 'bacth'; did you mean 'batch'?"},
        BadJobFileCase{"unknown_common_key", "epoks: 1\ntrain:\n  batch: 3\n",
                       ":1: unknown key 'epoks'; did you mean 'epochs'?"},
        BadJobFileCase{"bad_value", "train:\n\n  epochs: many\n",
                       ":3: key 'epochs': 'many' is not a whole number from 1 to 1,000,000,000"},
        BadJobFileCase{"unknown_section", "trian:\n  epochs: 1\n",
                       ":1: unknown section 'trian'; did you mean 'train'?"},
        BadJobFileCase{"twice", "train:\n  batch: 1\n  batch: 2\n", ":3: key 'batch' is given twice, first in line 2"},
        BadJobFileCase{"list", "train:\n  batch: [1, 2]\n", ":2: key 'batch' needs a single value"},
        BadJobFileCase{"no_section", "data: mnist\n", ": no section: expected one or more of train and infer"},
        BadJobFileCase{"scalar", "hello\n", ": not a job file: expected sections such as 'train:'"},
        BadJobFileCase{"empty", "", ": not a job file: expected sections such as 'train:'"},
        BadJobFileCase{"not_yaml", "train: [1\n", ":2: end of sequence flow not found"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(JobFile, MissingFileIsNamed) {
  const auto file = ConfigFile::load("/no/such/job.yaml", kJobFile);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.code(), Code::not_found);
  EXPECT_NE(file.error().message.find("/no/such/job.yaml"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::cli

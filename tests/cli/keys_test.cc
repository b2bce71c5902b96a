#include "mangrove/base/keys.h"

#include <gtest/gtest.h>

#include "mangrove/cli/settings.h"

namespace mangrove::cli {
namespace {

TEST(Keys, SetValuesOfEveryKind) {
  TrainSettings settings;
  const Keys keys = settings.keys();
  ASSERT_TRUE(keys.set("epochs", "7").ok());
  ASSERT_TRUE(keys.set("learning_rate", "0.25").ok());
  ASSERT_TRUE(keys.set("model", "mlp").ok());
  ASSERT_TRUE(keys.set("checkpoint_every", "500ms").ok());
  EXPECT_EQ(settings.job.epochs(), 7);
  EXPECT_DOUBLE_EQ(settings.job.learning_rate(), 0.25);
  EXPECT_EQ(settings.model, "mlp");
  EXPECT_DOUBLE_EQ(settings.job.checkpoint_every_s(), 0.5);
}

struct BadKeys {
  const char* key;
  const char* value;
  const char* message;
};

class BadSetting : public ::testing::TestWithParam<BadKeys> {};

TEST_P(BadSetting, SaysWhichKeyAndWhatWasExpected) {
  TrainSettings settings;
  const Status status = settings.keys().set(GetParam().key, GetParam().value);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadSetting,
    ::testing::Values(
        BadKeys{"epoch", "1", "unknown key 'epoch'; did you mean 'epochs'?"},
        BadKeys{"epochs", "0", "key 'epochs': '0' is not a whole number from 1 to 1,000,000,000"},
        BadKeys{"epochs", "1.5", "key 'epochs': '1.5' is not a whole number from 1 to 1,000,000,000"},
        BadKeys{"local", "zero", "key 'local': 'zero' is not a whole number from 1 to 1,000"},
        BadKeys{"local", "0", "key 'local': '0' is not a whole number from 1 to 1,000"},
        BadKeys{"momentum", "1", "key 'momentum': '1' is not a number from 0 to 0.9999"},
        BadKeys{"learning_rate", "-1", "key 'learning_rate': '-1' is not a number from 0 to 1,000,000,000"},
        BadKeys{"learning_rate", "nan", "key 'learning_rate': 'nan' is not a number from 0 to 1,000,000,000"},
        BadKeys{"step_timeout", "soon", "key 'step_timeout': 'soon' is not a duration like 30s, 500ms or 2min"}),
    [](const auto& param) { return std::string(param.param.key) + "_" + std::to_string(param.index); });

TEST(Keys, TextFormSetsTheSameValue) {
  TrainSettings from, to;
  from.job.set_learning_rate(0.1f + 0.2f);
  from.job.set_step_timeout_s(1.0 / 3);
  from.model = "a: \"b\" #c";
  const Keys source = from.keys(), target = to.keys();
  for (const Key& key : source.all()) ASSERT_TRUE(target.set(key.name, key.get()).ok()) << key.name;
  EXPECT_EQ(to.job.learning_rate(), from.job.learning_rate());
  EXPECT_EQ(to.job.step_timeout_s(), from.job.step_timeout_s());
  EXPECT_EQ(to.model, from.model);
}

TEST(Keys, FlagsAreSpelledWithDashes) {
  TrainSettings settings;
  const Keys keys = settings.keys();
  ASSERT_NE(keys.find("learning_rate"), nullptr);
  EXPECT_EQ(keys.find("learning_rate")->flag(), "--learning-rate");
}

}  // namespace
}  // namespace mangrove::cli

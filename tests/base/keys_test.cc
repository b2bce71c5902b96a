#include "mangrove/base/keys.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace mangrove {
namespace {

/// One setting of every kind.
struct SampleSettings {
  std::string model = "lenet";
  std::int64_t epochs = 10;
  double learning_rate = 0.05, momentum = 0.9;
  bool is_fresh = false;
  Seconds step_timeout = 30;
  Bytes memory = 0;
  BytesPerSecond rate = 0;

  Keys keys() {
    Keys keys;
    keys.begin_group("Learning");
    keys.add("model", model, "a network");
    keys.add("epochs", epochs, "passes over the training data", 1, 1'000'000'000);
    keys.add("learning_rate", learning_rate, "step along the gradient", 0, 1e9);
    keys.add("momentum", momentum, "share of the step before", 0, 0.9999);
    keys.begin_group("Cluster");
    keys.add("fresh", is_fresh, "measure again");
    keys.add_seconds("step_timeout", step_timeout, "how long a worker may be silent");
    keys.add_bytes("memory", memory, "memory of a worker");
    keys.add_rate("rate", rate, "speed of a link");
    return keys;
  }
};

TEST(Keys, SetValuesOfEveryKind) {
  SampleSettings settings;
  const Keys keys = settings.keys();
  for (const auto& [key, value] : {std::pair{"model", "mlp"},
                                   {"epochs", "7"},
                                   {"learning_rate", "0.25"},
                                   {"fresh", "true"},
                                   {"step_timeout", "500ms"},
                                   {"memory", "256MB"},
                                   {"rate", "100mbit"}})
    ASSERT_TRUE(keys.set(key, value).ok()) << key;
  EXPECT_EQ(settings.model, "mlp");
  EXPECT_EQ(settings.epochs, 7);
  EXPECT_DOUBLE_EQ(settings.learning_rate, 0.25);
  EXPECT_TRUE(settings.is_fresh);
  EXPECT_DOUBLE_EQ(settings.step_timeout, 0.5);
  EXPECT_EQ(settings.memory, 256'000'000);
  EXPECT_DOUBLE_EQ(settings.rate, 12.5e6);
}

struct BadValue {
  const char* key;
  const char* value;
  const char* message;
};

class BadSetting : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadSetting, SaysWhichKeyAndWhatWasExpected) {
  SampleSettings settings;
  const Status status = settings.keys().set(GetParam().key, GetParam().value);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadSetting,
    ::testing::Values(
        BadValue{"epoch", "1", "unknown key 'epoch'; did you mean 'epochs'?"},
        BadValue{"epochs", "0", "key 'epochs': '0' is not a whole number from 1 to 1,000,000,000"},
        BadValue{"epochs", "1.5", "key 'epochs': '1.5' is not a whole number from 1 to 1,000,000,000"},
        BadValue{"epochs", "ten", "key 'epochs': 'ten' is not a whole number from 1 to 1,000,000,000"},
        BadValue{"momentum", "1", "key 'momentum': '1' is not a number from 0 to 0.9999"},
        BadValue{"learning_rate", "-1", "key 'learning_rate': '-1' is not a number from 0 to 1,000,000,000"},
        BadValue{"learning_rate", "nan", "key 'learning_rate': 'nan' is not a number from 0 to 1,000,000,000"},
        BadValue{"step_timeout", "soon", "key 'step_timeout': 'soon' is not a duration like 30s, 500ms or 2min"}),
    [](const auto& param) { return std::string(param.param.key) + "_" + std::to_string(param.index); });

TEST(Keys, TextFormSetsTheSameValue) {
  SampleSettings from, to;
  from.learning_rate = 0.1 + 0.2;
  from.step_timeout = 1.0 / 3;
  from.model = "a: \"b\" #c";
  from.is_fresh = true;
  from.memory = 123'456'789;
  const Keys source = from.keys(), target = to.keys();
  for (const Key& key : source.all()) ASSERT_TRUE(target.set(key.name, key.get()).ok()) << key.name;
  EXPECT_EQ(to.learning_rate, from.learning_rate);
  EXPECT_EQ(to.step_timeout, from.step_timeout);
  EXPECT_EQ(to.model, from.model);
  EXPECT_EQ(to.is_fresh, from.is_fresh);
  EXPECT_EQ(to.memory, from.memory);
}

TEST(Keys, FlagsAreSpelledWithDashes) {
  SampleSettings settings;
  const Keys keys = settings.keys();
  ASSERT_NE(keys.find("learning_rate"), nullptr);
  EXPECT_EQ(keys.find("learning_rate")->flag(), "--learning-rate");
}

TEST(Keys, StandUnderTheHeadingOfTheirPlace) {
  SampleSettings settings;
  const Keys keys = settings.keys();
  ASSERT_NE(keys.find("momentum"), nullptr);
  ASSERT_NE(keys.find("rate"), nullptr);
  EXPECT_EQ(keys.find("momentum")->group, "Learning");
  EXPECT_EQ(keys.find("rate")->group, "Cluster");
}

}  // namespace
}  // namespace mangrove

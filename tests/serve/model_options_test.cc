#include "mangrove/serve/model_options.h"

#include <gtest/gtest.h>

namespace mangrove::serve {
namespace {

TEST(ModelOptions, AreSetByTheirKeys) {
  ModelOptions options;
  const Keys keys = model_keys(options);
  EXPECT_TRUE(keys.set("max_batch", "64").ok());
  EXPECT_TRUE(keys.set("max_wait", "5ms").ok());
  EXPECT_TRUE(keys.set("queue_bytes", "1MB").ok());
  EXPECT_EQ(options.max_batch, 64);
  EXPECT_EQ(options.max_wait, 0.005);
  EXPECT_EQ(options.queue_bytes, 1'000'000);
  EXPECT_EQ(keys.set("max_batch", "0").code(), Code::invalid_argument);
  EXPECT_EQ(keys.set("instances", "0").code(), Code::invalid_argument);
}

TEST(ModelOptions, EveryKeyKeepsItsDefault) {
  ModelOptions options;
  const Keys keys = model_keys(options);
  for (const Key& key : keys.all()) {
    const std::string text = key.get();
    EXPECT_TRUE(key.set(text).ok()) << key.name;
    EXPECT_EQ(key.get(), text) << key.name;
  }
}

}  // namespace
}  // namespace mangrove::serve

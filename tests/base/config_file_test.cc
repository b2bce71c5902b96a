#include "mangrove/base/config_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

namespace mangrove {
namespace {

struct SettingsFile : ::testing::Test {
  Status apply(const std::string& text) {
    Keys keys;
    keys.add("name", name, "a name");
    keys.add("threads", threads, "threads", 0, 64);
    std::ofstream(path()) << text;
    return apply_settings_file(path(), keys, {{"allow_path", &allowed}});
  }
  fs::path path() const { return folder / "node.yaml"; }
  /// What is wrong with the text, behind the path of the file.
  std::string fault(const std::string& text) {
    const Status status = apply(text);
    if (status.ok()) return "nothing";
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_TRUE(status.error().message.starts_with(path().string())) << status.error().message;
    return status.error().message.substr(path().string().size());
  }

  testing::TemporaryFolder folder;
  std::string name = "none";
  std::int64_t threads = 1;
  std::vector<std::string> allowed = {"/typed"};
};

TEST_F(SettingsFile, SetsKeysAndAddsToLists) {
  ASSERT_TRUE(apply("# a comment\nname: pi-3\nallow_path: [/srv/a, '/b, c']\nthreads: 4\n").ok());
  EXPECT_EQ(name, "pi-3");
  EXPECT_EQ(threads, 4);
  EXPECT_EQ(allowed, (std::vector<std::string>{"/typed", "/srv/a", "/b, c"}));
  ASSERT_TRUE(apply("allow_path: /one\n").ok());
  EXPECT_EQ(allowed.back(), "/one");
}

TEST_F(SettingsFile, WithoutAKeySetsNothing) {
  for (const char* text : {"", "# all is as it comes\n", "allow_path: []\n"}) {
    EXPECT_TRUE(apply(text).ok()) << text;
    EXPECT_EQ(name, "none");
    EXPECT_EQ(allowed.size(), 1u);
  }
}

TEST_F(SettingsFile, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(fault("name: a\ntreads: 4\n"), ":2: unknown key 'treads'; did you mean 'threads'?");
  EXPECT_EQ(fault("alow_path: [/a]\n"), ":1: unknown key 'alow_path'; did you mean 'allow_path'?");
  EXPECT_EQ(fault("alow_path: /a\n"), ":1: unknown key 'alow_path'; did you mean 'allow_path'?");
  EXPECT_EQ(fault("\nthreads: many\n"), ":2: key 'threads': 'many' is not a whole number from 0 to 64");
  EXPECT_EQ(fault("name: [a, b]\n"), ":1: key 'name' needs a single value");
  EXPECT_EQ(fault("name:\n"), ":1: key 'name' needs a single value");
  EXPECT_EQ(fault("allow_path: [/a, [/b]]\n"), ":1: key 'allow_path' needs a single value");
  EXPECT_EQ(fault("name: a\nthreads: 1\nname: b\n"), ":3: key 'name' is given twice, first in line 1");
  EXPECT_EQ(fault("allow_path: []\nallow_path: [/a]\n"), ":2: key 'allow_path' is given twice, first in line 1");
  EXPECT_EQ(fault("pi-3\n"), ": expected lines of 'key: value'");
  EXPECT_NE(fault("name: [\n").find(":2: "), std::string::npos);
}

TEST_F(SettingsFile, ThatIsNotThereIsAnError) {
  Keys keys;
  EXPECT_EQ(apply_settings_file(path(), keys).code(), Code::not_found);
}

}  // namespace
}  // namespace mangrove

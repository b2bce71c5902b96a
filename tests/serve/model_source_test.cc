#include "mangrove/serve/model_source.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace mangrove::serve {
namespace {

void write(const fs::path& file) {
  fs::create_directories(file.parent_path());
  ASSERT_TRUE(write_file_atomically(file, "text").ok());
}

TEST(ModelName, IsNoPath) {
  for (const char* good : {"lenet", "resnet-50", "a", "A.b_c-9"}) EXPECT_TRUE(check_model_name(good).ok()) << good;
  for (const std::string& bad : {std::string(), std::string(".."), std::string(".hidden"), std::string("a/b"),
                                 std::string("a b"), std::string("a\0b", 3), std::string("ä"), std::string(129, 'a')}) {
    const Status status = check_model_name(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.code(), Code::invalid_argument);
  }
  EXPECT_EQ(check_model_name("../x").error().message,
            "'../x' is no name of a model: expected 1 to 128 of the characters a-z A-Z 0-9 . _ -, and no point at the "
            "beginning");
}

TEST(FindNewest, TakesTheHighestNumberAndTheLabels) {
  const testing::TemporaryFolder folder;
  for (const char* version : {"2", "10", "9"}) write(folder / "m" / version / "model.onnx");
  write(folder / "m" / "11" / "other.onnx");
  write(folder / "m" / "012" / "model.onnx");
  write(folder / "m" / "latest" / "model.onnx");
  const auto found = find_newest({.options = {}, .folder = folder / "m"});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->version, 10);
  EXPECT_EQ(found->options.file, (folder / "m" / "10" / "model.onnx").string());
  EXPECT_EQ(found->options.labels, "");
  EXPECT_EQ(found->state.size, 4);
  write(folder / "m" / "labels.txt");
  EXPECT_EQ(find_newest({.options = {}, .folder = folder / "m"})->options.labels,
            (folder / "m" / "labels.txt").string());
}

TEST(FindNewest, SaysWhatIsExpected) {
  const testing::TemporaryFolder folder;
  const std::string m = (folder / "m").string();
  EXPECT_EQ(find_newest({.options = {}, .folder = m}).error().message,
            m + ": no version of a model; expected " + m + "/1/model.onnx");
  const auto file = find_newest({.options = {.file = m}});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.code(), Code::not_found);
}

TEST(ModelsIn, AreTheFoldersWithAVersion) {
  const testing::TemporaryFolder folder;
  write(folder / "b" / "1" / "model.onnx");
  write(folder / "a" / "3" / "model.onnx");
  write(folder / "no model" / "text");
  write(folder / "file");
  const auto found = models_in(folder.path());
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, (std::vector<std::string>{"a", "b"}));
  write(folder / "bad name" / "1" / "model.onnx");
  EXPECT_EQ(models_in(folder.path()).code(), Code::invalid_argument);
  EXPECT_EQ(models_in(folder / "none").error().message, (folder / "none").string() + ": no such folder");
}

}  // namespace
}  // namespace mangrove::serve

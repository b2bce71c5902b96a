#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

#include "mangrove/data/dataset.h"
#include "mangrove/data/download.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;

/// Sets an environment variable, or unsets it, until the end of its scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    set(value);
  }
  ~Environment() { set(old_ ? old_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Datasets, EveryOneHasASummaryAndOpensOrSaysWhatIsMissing) {
  const TemporaryFolder empty;
  EXPECT_GE(dataset_names().size(), 2u);
  for (const std::string& name : dataset_names()) {
    EXPECT_FALSE(dataset_summary(name)->empty());
    const bool present = *is_present(name, empty.path());
    const auto dataset = open_dataset(name, Split::test, empty.path());
    EXPECT_EQ(dataset.ok(), present) << name;
    if (!present) {
      EXPECT_EQ(dataset.code(), Code::not_found) << name;
    }
  }
}

TEST(Datasets, UnknownNameIsRefusedWithTheNearest) {
  const Error errors[] = {open_dataset("mnits", Split::train, "/").error(), is_present("mnits", "/").error(),
                          dataset_summary("mnits").error(), fetch_dataset("mnits", "/", {}, {}).error()};
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, Code::not_found);
    EXPECT_EQ(error.message, "unknown data set 'mnits'; did you mean 'mnist'?");
  }
}

TEST(Datasets, MnistIsPresentWhenAllFourFilesAre) {
  const TemporaryFolder folder;
  const fs::path mnist = folder / "mnist";
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz"}) {
    testing::write(mnist / name, "x");
    EXPECT_FALSE(*is_present("mnist", folder.path())) << name;
  }
  fs::create_directory(mnist / "t10k-labels-idx1-ubyte");
  EXPECT_FALSE(*is_present("mnist", folder.path())) << "a folder is not a file";
  testing::write(mnist / "t10k-labels-idx1-ubyte.gz", "x");
  EXPECT_TRUE(*is_present("mnist", folder.path()));
}

TEST(Datasets, GlyphsNeedNoFiles) {
  EXPECT_TRUE(*is_present("glyphs", "/nowhere"));
  EXPECT_TRUE(fetch_dataset("glyphs", "/nowhere", {}, {}).ok());
  EXPECT_EQ((*open_dataset("glyphs", Split::train, "/nowhere"))->size(), 60'000u);
}

TEST(DataFolder, IsTheGivenOneThenTheEnvironmentsThenTheCache) {
  const Environment home("HOME", "/home/someone");
  {
    const Environment data("MANGROVE_DATA", "/mnt/data");
    EXPECT_EQ(data_folder("/given"), "/given");
    EXPECT_EQ(data_folder(""), "/mnt/data");
  }
  const Environment data("MANGROVE_DATA", nullptr);
  EXPECT_EQ(data_folder(""), "/home/someone/.cache/mangrove/data");
  const Environment no_home("HOME", nullptr);
  EXPECT_TRUE(data_folder("").is_absolute());
}

}  // namespace
}  // namespace mangrove::data

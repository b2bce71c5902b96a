#include "mangrove/data/data_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/base/temporary_folder.h"

#include "mangrove/data/dataset.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;

const char* const kWalk = "label,x\nwalk,1\nwalk,2\nrun,3\nrun,4\n";

/// A device: root/data is its data folder, root/private is nobody's business, root/open is what its owner may open.
struct DataFolderTest : ::testing::Test {
  void SetUp() override {
    for (const char* name : {"data/walks", "private", "open"}) fs::create_directories(root / name);
    for (const char* name : {"data/walks/a.csv", "private/b.csv", "open/c.csv"}) std::ofstream(root / name) << kWalk;
  }
  fs::path data() const { return root / "data"; }
  DataFolder confined(std::vector<fs::path> allowed = {}) const {
    return DataFolder::confined(data(), std::move(allowed));
  }
  std::string at(const std::string& name) const { return (root / name).string(); }

  const TemporaryFolder root;
};

TEST(DataFolder, OwnCommandLooksInTheWorkingDirectoryThenInTheDataFolder) {
  const DataFolder folder("/data");
  EXPECT_EQ(*folder.find("/abs"), "/abs");
  EXPECT_EQ(*folder.find("surely/not/here"), "/data/surely/not/here");
  EXPECT_EQ(*folder.find("."), ".");
  EXPECT_FALSE(folder.is_confined());
}

TEST_F(DataFolderTest, JobsOfOthersReadTheDataFolder) {
  for (const std::string& path : {std::string("walks/a.csv"), at("data/walks/a.csv"), at("data/walks/../walks/a.csv")})
    EXPECT_EQ(*confined().find(path), fs::canonical(data() / "walks/a.csv")) << path;
  EXPECT_EQ(*confined().find("none"), data() / "none") << "who opens it says that it is not there";
}

TEST_F(DataFolderTest, JobsOfOthersReadNothingElse) {
  const std::string paths[] = {"/etc/passwd",
                               "/etc/no-such-file",
                               "../private/b.csv",
                               "walks/../../private/b.csv",
                               at("private/b.csv"),
                               at("data/../private"),
                               "/",
                               "..",
                               at("database/of.csv"),
                               "registered/../../private"};
  std::string said;
  for (const std::string& path : paths) {
    const auto found = confined().find(path);
    ASSERT_FALSE(found.ok()) << path << " -> " << *found;
    EXPECT_EQ(found.code(), Code::permission_denied) << path;
    std::string message = found.error().message;
    message.replace(message.find(path), path.size(), "PATH");
    if (said.empty()) said = message;
    EXPECT_EQ(message, said) << "one can tell whether something is there: " << path;
  }
}

TEST_F(DataFolderTest, WhatOtherJobsHaveLeftIsNobodysData) {
  for (const char* kept : {kFetchedFolder, kNetworksFolder}) {
    fs::create_directories(data() / kept / "of-another");
    fs::create_directory_symlink(data() / kept, data() / "walks" / kept);
    for (const std::string& path : {std::string(kept), std::string(kept) + "/of-another", std::string(kept) + "/none",
                                    at("data/" + std::string(kept)), std::string("walks/") + kept})
      EXPECT_EQ(confined().find(path).code(), Code::permission_denied) << path;
    fs::remove(data() / "walks" / kept);
    EXPECT_EQ(confined().find(at("data")).code(), Code::permission_denied) << "it is below";
  }
  EXPECT_EQ(confined({at("")}).find(at("data/fetched")).code(), Code::permission_denied) << "whatever else is open";
  EXPECT_TRUE(confined().find("walks/a.csv").ok());
}

TEST_F(DataFolderTest, LinksThatLeadOutAreNotFollowed) {
  fs::create_symlink(at("private/b.csv"), data() / "b.csv");
  fs::create_directory_symlink(at("private"), data() / "walks" / "more");
  for (const char* path : {"b.csv", "walks", "walks/more", "walks/more/b.csv", "."})
    EXPECT_EQ(confined().find(path).code(), Code::permission_denied) << path;
  EXPECT_TRUE(confined().find("walks/a.csv").ok()) << "what is beside such a link is as good as before";
  EXPECT_TRUE(DataFolder(data()).find("b.csv").ok()) << "the user's own command";
}

TEST_F(DataFolderTest, LinksBehindAllowedLinksAreLookedAtToo) {
  fs::create_directory_symlink(at("open"), data() / "walks" / "more");
  EXPECT_TRUE(confined({at("open")}).find("walks").ok());
  fs::create_symlink(at("private/b.csv"), at("open/b.csv"));
  EXPECT_EQ(confined({at("open")}).find("walks").code(), Code::permission_denied);
}

TEST_F(DataFolderTest, OwnerMayAllowFolders) {
  const DataFolder folder = confined({at("open/")});
  EXPECT_TRUE(folder.is_confined());
  EXPECT_EQ(*folder.find(at("open/c.csv")), fs::canonical(at("open/c.csv")));
  EXPECT_TRUE(folder.find("walks/a.csv").ok());
  EXPECT_EQ(folder.find(at("private/b.csv")).code(), Code::permission_denied);
  EXPECT_EQ(folder.find(at("open/../private/b.csv")).code(), Code::permission_denied);
  EXPECT_EQ(folder.find(at("open-air/c.csv")).code(), Code::permission_denied) << "only its name begins so";
}

TEST_F(DataFolderTest, WhoAllowsEverythingIsNotConfined) {
  const DataFolder folder = confined({"/"});
  EXPECT_FALSE(folder.is_confined());
  EXPECT_EQ(*folder.find(at("private/b.csv")), at("private/b.csv"));
}

TEST_F(DataFolderTest, RegisteredNamesStandForPlacesOfTheOwner) {
  ASSERT_TRUE(register_data(data(), "mine", at("open")).ok());
  ASSERT_TRUE(register_data(data(), "one", at("open/c.csv")).ok());
  for (const DataFolder& folder : {confined(), DataFolder(data())}) {
    EXPECT_EQ(fs::canonical(*folder.find("mine/c.csv")), fs::canonical(at("open/c.csv")));
    EXPECT_EQ(fs::canonical(*folder.find("one")), fs::canonical(at("open/c.csv")));
  }
  EXPECT_EQ(confined().find("mine/../../private/b.csv").code(), Code::permission_denied);
  EXPECT_TRUE(confined().find(at("open/c.csv")).ok()) << "it is open, whatever it is called";
  const auto all = registered_data(data());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "mine");
  EXPECT_EQ(all[0].path, fs::canonical(at("open")));
}

TEST_F(DataFolderTest, RegisteredNamesCanBeGivenAnewAndTakenAway) {
  ASSERT_TRUE(register_data(data(), "mine", at("private")).ok());
  ASSERT_TRUE(register_data(data(), "mine", at("open")).ok());
  EXPECT_TRUE(confined().find("mine/c.csv").ok());
  EXPECT_FALSE(confined().find(at("private/b.csv")).ok());
  ASSERT_TRUE(unregister_data(data(), "mine").ok());
  EXPECT_EQ(confined().find(at("open/c.csv")).code(), Code::permission_denied);
  EXPECT_EQ(unregister_data(data(), "mine").code(), Code::not_found);
  EXPECT_TRUE(registered_data(data()).empty());
}

TEST_F(DataFolderTest, NamesAreNoPaths) {
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\nb"}) {
    EXPECT_EQ(register_data(data(), name, at("open")).code(), Code::invalid_argument) << name;
    EXPECT_EQ(unregister_data(data(), name).code(), Code::invalid_argument) << name;
  }
  EXPECT_EQ(register_data(data(), std::string(65, 'a'), at("open")).code(), Code::invalid_argument);
  EXPECT_EQ(register_data(data(), "gone", at("nothing")).code(), Code::not_found);
}

TEST_F(DataFolderTest, EveryKindOfFilesIsConfined) {
  for (const DatasetInfo& info : known_datasets()) {
    if (!info.is_kind) continue;
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      const std::string spec = std::string(info.name) + ":" + at("private");
      const auto opened = open_dataset(spec, split, confined());
      EXPECT_EQ(opened.code(), Code::permission_denied) << spec;
    }
  }
}

TEST_F(DataFolderTest, ErrorsForOthersDoNotQuoteFiles) {
  std::ofstream(data() / "secret.csv") << "root:hunter2:0,name\nlabel-of-hunter2,hunter2\n";
  std::ofstream(data() / "value.csv") << "label,hunter2\nwalk,hunter2\n";
  fs::create_directories(data() / "both");
  std::ofstream(data() / "both" / "train.csv") << kWalk;
  std::ofstream(data() / "both" / "test.csv") << "label,x\nhunter2,1\n";
  for (const auto& [spec, split] :
       {std::pair{"csv:secret.csv", Split::train}, std::pair{"csv:value.csv,window=1", Split::train},
        std::pair{"csv:both,window=1", Split::test}}) {
    const auto own = open_dataset(spec, split, data()), theirs = open_dataset(spec, split, confined());
    ASSERT_FALSE(own.ok() || theirs.ok()) << spec;
    EXPECT_EQ(own.code(), theirs.code());
    EXPECT_NE(own.error().message.find("hunter2"), std::string::npos) << own.error().message;
    EXPECT_EQ(theirs.error().message.find("hunter2"), std::string::npos) << theirs.error().message;
  }
}

TEST_F(DataFolderTest, AFileThatBecameALinkSinceItWasLookedAtIsNotOpened) {
  const DataFolder folder = confined();
  const fs::path walks = *folder.find("walks");
  const FileOpener open = folder.opener();
  EXPECT_EQ(open(walks / "a.csv")->size(), std::string(kWalk).size());
  fs::remove(walks / "a.csv");
  fs::create_symlink(at("private/b.csv"), walks / "a.csv");
  EXPECT_EQ(open(walks / "a.csv").code(), Code::permission_denied);
  EXPECT_TRUE(DataFolder(data()).opener()(walks / "a.csv").ok()) << "the user's own command";
  fs::remove_all(walks);
  fs::create_directory_symlink(at("private"), walks);
  EXPECT_EQ(open(walks / "b.csv").code(), Code::permission_denied);
  EXPECT_EQ(open(walks / "none.csv").code(), Code::not_found);
}

TEST_F(DataFolderTest, LinksToOpenPlacesAreStillFollowed) {
  fs::create_directory_symlink(at("open"), data() / "walks" / "more");
  EXPECT_TRUE(confined({at("open")}).opener()(data() / "walks/more/c.csv").ok());
  EXPECT_FALSE(confined().opener()(data() / "walks/more/c.csv").ok());
  fs::create_directories(data() / kFetchedFolder);
  std::ofstream(data() / kFetchedFolder / "left.csv") << kWalk;
  EXPECT_FALSE(confined().opener()(data() / kFetchedFolder / "left.csv").ok()) << "other jobs have left it";
}

TEST_F(DataFolderTest, SwappingAFileForALinkAtAnyMomentShowsNothingElse) {
  const std::string secret = "a secret that is longer than a walk is, so that its size tells it apart from it\n";
  std::ofstream(root / "private/b.csv") << secret;
  const fs::path file = data() / "walks/a.csv", other = data() / "walks/other", link = data() / "walks/link";
  const FileOpener open = confined().opener();
  std::atomic<bool> over = false;
  std::jthread swapping([&] {
    while (!over) {
      fs::create_symlink(at("private/b.csv"), link);
      fs::rename(link, file);
      std::ofstream(other) << kWalk;
      fs::rename(other, file);
    }
  });
  int opened = 0, refused = 0;
  for (int i = 0; i < 200'000 && (opened < 1000 || refused < 1000); ++i) {
    const auto found = open(file);
    if (found.ok()) {
      EXPECT_NE(found->size(), secret.size());
      ++opened;
    } else {
      ++refused;
    }
  }
  over = true;
  swapping.join();
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(DataFolderTest, AFolderThatCannotBeLookedThroughIsRefused) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = before;
  none.rlim_cur = 0;  // no file can be opened any more
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto found = confined().find("walks");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("cannot be looked through"), std::string::npos) << found.error().message;
}

TEST_F(DataFolderTest, AnImageThatBecomesALinkIsNotReadForAJob) {
  const std::string picture = "P6 1 1 255\nabc";
  fs::create_directories(data() / "pictures/leaf");
  for (const char* name : {"data/pictures/leaf/1.ppm", "data/pictures/leaf/2.ppm", "private/3.ppm"})
    std::ofstream(root / name) << picture;
  const auto dataset = open_dataset("folder:pictures", Split::train, confined());
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  std::vector<float> pixels(3);
  EXPECT_TRUE((*dataset)->read(1, pixels).ok());
  fs::remove(data() / "pictures/leaf/2.ppm");
  fs::create_symlink(at("private/3.ppm"), data() / "pictures/leaf/2.ppm");
  EXPECT_TRUE((*dataset)->read(0, pixels).ok());
  EXPECT_EQ((*dataset)->read(1, pixels).code(), Code::permission_denied);
}

}  // namespace
}  // namespace mangrove::data

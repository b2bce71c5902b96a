#include "mangrove/data/download.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/data/http_server.h"
#include "tests/data/idx_files.h"

#include "mangrove/base/clock.h"
#include "mangrove/base/random.h"
#include "mangrove/data/sha256.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::gzipped;
using testing::HttpServer;
using testing::SilentServer;
using testing::write;

std::string noise(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::string content;
  for (std::size_t i = 0; i < bytes; ++i) content += static_cast<char>(random.below(256));
  return content;
}

std::string digest(const std::string& content) {
  return sha256({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
}

/// Two files, published in the folders `one` and `two` of the mirrors.
class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    for (const char* mirror : {"one", "two"}) {
      publish(mirror, "images", gzipped(images_));
      publish(mirror, "labels", gzipped(labels_));
    }
  }

  void publish(const std::string& mirror, const std::string& file, const std::string& content) {
    write(remote_ / mirror / (file + ".gz"), content);
  }
  const fs::path& remote() const { return remote_.path(); }
  std::string mirror(const std::string& name) const { return "file://" + (remote_ / name).string() + "/"; }

  Status fetch(const std::vector<std::string>& mirrors, const DownloadProgress& progress = {},
               std::stop_token stop = {}) {
    const std::vector<std::string_view> views(mirrors.begin(), mirrors.end());
    return fetch_files({"digits", files_, views}, local_.path(), progress, std::move(stop), {.stall_timeout = 1});
  }

  fs::path local(const std::string& file) const { return local_ / "digits" / file; }
  /// Names of what is in the folder of the data set.
  std::vector<std::string> local_names() const {
    std::vector<std::string> names;
    if (!fs::exists(local(""))) return names;
    for (const auto& entry : fs::directory_iterator(local(""))) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  void expect_complete() const {
    EXPECT_EQ(local_names(), (std::vector<std::string>{"images", "labels"}));
    EXPECT_EQ(*read_file(local("images")), images_);
    EXPECT_EQ(*read_file(local("labels")), labels_);
  }

  const std::string images_ = noise(300'000, 1);
  const std::string labels_ = std::string(20'000, 'l');
  const std::string images_digest_ = digest(images_);
  const std::string labels_digest_ = digest(labels_);
  const std::vector<RemoteFile> files_ = {{"images", images_digest_, 300'000, 300'100},
                                          {"labels", labels_digest_, 20'000, 50}};
  const TemporaryFolder remote_;
  const TemporaryFolder local_;
};

TEST_F(DownloadTest, UnpacksFilesAndTellsProgress) {
  std::vector<Bytes> done;
  const auto progress = [&](Bytes bytes, Bytes total) {
    EXPECT_EQ(total, 300'150);
    done.push_back(bytes);
  };
  const Status status = fetch({mirror("one")}, progress);
  ASSERT_TRUE(status.ok()) << status.error().message;
  expect_complete();
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(done.back(), 300'150);
}

TEST_F(DownloadTest, WorksOverHttp) {
  const HttpServer server(remote());
  const Status status = fetch({server.url() + "/one/"});
  ASSERT_TRUE(status.ok()) << status.error().message;
  expect_complete();
}

TEST_F(DownloadTest, FilesThatAreThereAndRightAreLeftAlone) {
  ASSERT_TRUE(fetch({mirror("one")}).ok());
  EXPECT_TRUE(fetch({mirror("absent")}).ok());
  expect_complete();
}

TEST_F(DownloadTest, WrongFilesAreReplaced) {
  write(local("images"), images_.substr(0, 1000));
  write(local("labels"), std::string(20'000, 'x'));
  ASSERT_TRUE(fetch({mirror("one")}).ok());
  expect_complete();
}

TEST_F(DownloadTest, SecondMirrorHelpsWhereTheFirstFails) {
  publish("cut", "images", gzipped(images_));  // the server sends half of it
  publish("short", "images", gzipped(images_).substr(0, 100'000));
  publish("wrong", "images", gzipped(noise(300'000, 2)));
  publish("long", "images", gzipped(images_ + "x"));
  publish("html", "images", "<html>please log in</html>");
  publish("endless", "images", noise(1'000'000, 3));
  const HttpServer server(remote());
  for (const std::string& first : {std::string("http://127.0.0.1:1/"), mirror("absent"), mirror("short"),
                                   mirror("wrong"), mirror("long"), mirror("html"), mirror("endless"),
                                   server.url() + "/absent/", server.url() + "/cut/", server.url() + "/endless/"}) {
    fs::remove_all(local(""));
    const Status status = fetch({first, mirror("two")});
    EXPECT_TRUE(status.ok()) << first << ": " << status.error().message;
    expect_complete();
  }
}

TEST_F(DownloadTest, NoMirrorReachableIsUnavailableWithEachReason) {
  const Status status = fetch({"http://127.0.0.1:1/", mirror("absent")});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::unavailable);
  const std::string& message = status.error().message;
  EXPECT_TRUE(message.starts_with("digits: no mirror could be reached: 127.0.0.1:1: ")) << message;
  EXPECT_NE(message.find("; file://"), std::string::npos) << message;
  EXPECT_TRUE(local_names().empty());
}

TEST_F(DownloadTest, UnknownHostFailsAtOnce) {
  const SteadyClock clock;
  const Instant start = clock.now();
  const Status status = fetch({"http://mirror.invalid/"});
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_LT(clock.now() - start, 10);
}

TEST_F(DownloadTest, SilentMirrorIsGivenUp) {
  const SilentServer server;
  const SteadyClock clock;
  const Instant start = clock.now();
  const Status status = fetch({server.url() + "/"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::unavailable) << status.error().message;
  EXPECT_LT(clock.now() - start, 20);
}

TEST_F(DownloadTest, WrongContentEverywhereIsDataLossAndLeavesNothing) {
  publish("one", "images", gzipped(noise(300'000, 2)));
  publish("two", "images", gzipped(images_).substr(0, 100'000));
  const Status status = fetch({mirror("one"), mirror("two")});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::data_loss);
  const std::string& message = status.error().message;
  for (const std::string& part : {std::string("digits: images: no mirror has the right file"),
                                  "checksum " + digest(noise(300'000, 2)) + " found, " + images_digest_ + " expected",
                                  std::string("not a valid gzip stream: truncated")})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  EXPECT_TRUE(local_names().empty());
}

TEST_F(DownloadTest, InterruptedLeavesOnlyWholeFiles) {
  const HttpServer server(remote());
  for (int calls = 0;; ++calls) {  // interrupted at every report of progress in turn
    fs::remove_all(local(""));
    std::stop_source stop;
    int reports = 0;
    const auto interrupt = [&](Bytes, Bytes) {
      if (++reports > calls) stop.request_stop();
    };
    const Status status = fetch({server.url() + "/one/"}, interrupt, stop.get_token());
    if (status.ok()) {
      EXPECT_GT(calls, 1);
      expect_complete();
      break;
    }
    EXPECT_EQ(status.code(), Code::cancelled) << status.error().message;
    for (const std::string& name : local_names()) EXPECT_EQ(*read_file(local(name)), images_) << name;
  }
}

TEST_F(DownloadTest, FolderThatCannotBeMadeIsNamed) {
  write(local_ / "digits", "a file");
  const Status status = fetch({mirror("one")});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find((local_ / "digits").string()), std::string::npos) << status.error().message;
}

TEST(UrlHost, IsWhatStandsBetweenSchemeAndPath) {
  EXPECT_EQ(url_host("https://storage.googleapis.com/cvdf-datasets/mnist/"), "storage.googleapis.com");
  EXPECT_EQ(url_host("http://127.0.0.1:80"), "127.0.0.1:80");
  EXPECT_EQ(url_host("file:///tmp/x"), "file:///tmp/x");
}

/// A tar archive (ustar) of files of these names and contents.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive;
  for (const auto& [name, content] : files) {
    std::string header(512, '\0');
    char size[12];
    std::snprintf(size, sizeof size, "%011zo", content.size());
    header.replace(0, name.size(), name).replace(124, 11, size).replace(148, 8, 8, ' ');
    header[156] = '0';
    std::size_t sum = 0;
    for (const unsigned char c : header) sum += c;
    char checksum[8];
    std::snprintf(checksum, sizeof checksum, "%06zo", sum);
    header.replace(148, 7, std::string(checksum) + '\0');
    archive += header + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return archive + std::string(1024, '\0');
}

class ArchiveTest : public DownloadTest {
 protected:
  Status fetch_archive(const std::string& archive, const std::string& checksum) {
    write(remote() / "one" / "all.tar.gz", archive);
    const std::vector<std::string> mirrors = {mirror("none"), mirror("one")};
    const std::vector<std::string_view> views(mirrors.begin(), mirrors.end());
    const std::vector<RemoteFile> files = {{"images", images_digest_, 300'000, 0}, {"labels", "", 0, 0}};
    const RemoteArchive remote_archive = {"all.tar.gz", checksum, static_cast<Bytes>(archive.size())};
    return fetch_files({"digits", files, views, remote_archive}, local_.path(), {}, {}, {.stall_timeout = 1});
  }
};

TEST_F(ArchiveTest, ItsFilesAreUnpackedFromWhateverFolder) {
  const std::string archive =
      gzipped(tar_of({{"x/", ""}, {"x/readme", "hello"}, {"x/labels", labels_}, {"x/images", images_}}));
  const Status status = fetch_archive(archive, digest(archive));
  ASSERT_TRUE(status.ok()) << status.error().message;
  expect_complete();
  EXPECT_TRUE(fetch_archive("", "").ok()) << "what is there and right is not fetched again";
}

TEST_F(ArchiveTest, WrongOnesAreRefused) {
  const std::string good = gzipped(tar_of({{"images", images_}, {"labels", labels_}}));
  const std::string incomplete = gzipped(tar_of({{"images", images_}}));
  const std::string wrong = gzipped(tar_of({{"images", "other"}, {"labels", labels_}}));
  const std::string truncated = gzipped(tar_of({{"images", images_}}).substr(0, 2000));
  const std::string no_tar = gzipped(std::string(2000, 'x'));
  struct Case {
    const std::string& archive;
    std::string checksum;
    Code code;
    std::string message;
  };
  const Case cases[] = {
      {good, digest("x"), Code::data_loss, "checksum"},
      {incomplete, digest(incomplete), Code::not_found, "all.tar.gz: no file 'labels' in the archive"},
      {wrong, digest(wrong), Code::data_loss, "all.tar.gz: images: 5 bytes found, 300000 expected"},
      {truncated, digest(truncated), Code::data_loss, "truncated"},
      {no_tar, digest(no_tar), Code::data_loss, "not a tar archive"},
  };
  for (const Case& test : cases) {
    const Status status = fetch_archive(test.archive, test.checksum);
    ASSERT_FALSE(status.ok()) << test.message;
    EXPECT_EQ(status.code(), test.code) << status.error().message;
    EXPECT_NE(status.error().message.find(test.message), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace mangrove::data

#include "mangrove/serve/class_labels.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/graph/small_networks.h"

#include "mangrove/base/file.h"

namespace mangrove::serve {
namespace {

using Labels = std::vector<std::string>;

Graph with_classes(const std::string& classes) {
  GraphParts parts = small_graph().parts();
  parts.metadata["mangrove.classes"] = classes;
  return *Graph::create(std::move(parts));
}

TEST(ClassLabels, AreTheLinesOfTheFile) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "labels.txt", "cat\r\nbig dog\n\nbird").ok());
  EXPECT_EQ(*class_labels((folder / "labels.txt").string(), with_classes(R"(["x"])")),
            (Labels{"cat", "big dog", "", "bird"}));
  EXPECT_EQ(class_labels((folder / "none").string(), small_graph()).code(), Code::not_found);
}

TEST(ClassLabels, AreThoseOfTheNetworkElse) {
  EXPECT_EQ(*class_labels("", with_classes(R"(["cat", "dog"])")), (Labels{"cat", "dog"}));
  EXPECT_EQ(*class_labels("", with_classes("cat, dog")), Labels());
  EXPECT_EQ(*class_labels("", with_classes("7")), Labels());
  EXPECT_EQ(*class_labels("", small_graph()), Labels());
}

}  // namespace
}  // namespace mangrove::serve

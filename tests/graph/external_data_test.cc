// Tensors of a model in files of their own, and paths, offsets and lengths that lie.
#include "mangrove/graph/external_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/base/temporary_folder.h"
#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

const std::vector<float> kElements{1, -2, 3.5f, 4, 5, 6};

std::string bytes_of(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)};
}

// Six elements as they are kept elsewhere.
onnx::TensorProto external_tensor(const Entries& entries, std::int32_t type = onnx::TensorProto::FLOAT) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(type);
  tensor.add_dims(2);
  tensor.add_dims(3);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return tensor;
}

class ExternalDataFiles : public ::testing::Test {
 protected:
  ExternalDataFiles() {
    fs::create_directories(folder_.path() / "model" / "parts");
    write("model/weights.bin", "8 bytes." + bytes_of(kElements));
    write("model/parts/weights.bin", bytes_of(kElements));
    write("secret.bin", bytes_of(kElements));
    fs::create_symlink("../secret.bin", folder_.path() / "model" / "link.bin");
    fs::create_symlink("parts/weights.bin", folder_.path() / "model" / "inner.bin");
  }

  void write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(write_file_atomically(folder_.path() / name, bytes).ok());
  }

  Status fetch(onnx::TensorProto& tensor) { return ExternalData(folder_.path() / "model").fetch(tensor); }

  void expect_refused(const Entries& entries, Code code, const std::string& message) {
    onnx::TensorProto tensor = external_tensor(entries);
    const Status status = fetch(tensor);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.code(), code) << status.error().message;
    EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
    EXPECT_FALSE(tensor.has_raw_data());
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ExternalDataFiles, AreReadFromTheOffsetOn) {
  onnx::TensorProto tensor = external_tensor({{"location", "weights.bin"}, {"offset", "8"}, {"length", "24"}});
  const Status status = fetch(tensor);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(tensor.raw_data(), bytes_of(kElements));
  EXPECT_EQ(tensor.external_data_size(), 0);
}

TEST_F(ExternalDataFiles, MayLieInFoldersBelowAndBehindLinksThatStayInside) {
  for (const std::string location : {"parts/weights.bin", "./parts/weights.bin", "inner.bin"}) {
    onnx::TensorProto tensor = external_tensor({{"location", location}});
    const Status status = fetch(tensor);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(tensor.raw_data(), bytes_of(kElements)) << location;
  }
}

TEST_F(ExternalDataFiles, HaveTwoBytesForEachFloat16) {
  write("model/half.bin", std::string(12, '\0'));
  onnx::TensorProto tensor = external_tensor({{"location", "half.bin"}}, onnx::TensorProto::FLOAT16);
  const Status status = fetch(tensor);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(tensor.raw_data().size(), 12u);
}

TEST_F(ExternalDataFiles, OutsideOfTheFolderAreRefused) {
  const std::string absolute = (folder_.path() / "secret.bin").string();
  expect_refused({{"location", "../secret.bin"}}, Code::invalid_argument, "without '..'");
  expect_refused({{"location", "parts/../weights.bin"}}, Code::invalid_argument, "without '..'");
  expect_refused({{"location", absolute}}, Code::invalid_argument, "expected a path relative");
  expect_refused({{"location", ""}}, Code::invalid_argument, "expected a path relative");
  expect_refused({{"location", std::string("weights.bin\0x", 13)}}, Code::invalid_argument, "expected a path relative");
  expect_refused({{"location", "link.bin"}}, Code::invalid_argument, "expected a regular file in");
  expect_refused({{"location", "parts"}}, Code::invalid_argument, "expected a regular file in");
  expect_refused({{"location", "none.bin"}}, Code::not_found, "none.bin");
}

TEST_F(ExternalDataFiles, ThatAreTooShortAreRefusedBeforeMemoryIsTaken) {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  expect_refused({}, Code::data_loss, "without a location");
  expect_refused({{"location", "weights.bin"}, {"offset", "9"}}, Code::data_loss, "are not all in");
  expect_refused({{"location", "weights.bin"}, {"offset", most}}, Code::data_loss, "are not all in");
  expect_refused({{"location", "weights.bin"}, {"length", "23"}}, Code::data_loss, "length is 23 bytes");
  expect_refused({{"location", "weights.bin"}, {"offset", "-1"}}, Code::data_loss, "expected a number of bytes");
  expect_refused({{"location", "weights.bin"}, {"offset", "8x"}}, Code::data_loss, "expected a number of bytes");
  expect_refused({{"location", "weights.bin"}, {"length", "99999999999999999999"}}, Code::data_loss,
                 "expected a number of bytes");
}

TEST_F(ExternalDataFiles, TogetherHaveAnEnd) {
  const fs::path sparse = folder_.path() / "model" / "sparse.bin";
  write("model/sparse.bin", "");
  fs::resize_file(sparse, std::uintmax_t{1} << 33);
  onnx::TensorProto tensor = external_tensor({{"location", "sparse.bin"}});
  tensor.set_dims(0, std::int64_t{1} << 29);
  const Status status = fetch(tensor);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::resource_exhausted) << status.error().message;
}

// The weights of a network in a file beside it.
TEST_F(ExternalDataFiles, BelongToTheModelThatNamesThem) {
  const Graph graph = Graph::create(testing::small_network()).value();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(encode_onnx(graph)));
  std::string weights;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const Entries entries{{"location", "all.bin"},
                          {"offset", std::to_string(weights.size())},
                          {"length", std::to_string(tensor.raw_data().size())}};
    weights += tensor.raw_data();
    tensor.clear_raw_data();
    *tensor.mutable_external_data() = external_tensor(entries).external_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  }
  write("model/all.bin", weights);
  write("model/network.onnx", model.SerializeAsString());
  const auto loaded = load_onnx(folder_.path() / "model" / "network.onnx");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->initializers().size(), graph.initializers().size());
  for (const auto& [name, tensor] : graph.initializers()) {
    const Tensor& found = loaded->initializers().at(name);
    ASSERT_EQ(found.bytes(), tensor.bytes());
    EXPECT_EQ(std::memcmp(found.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes())), 0) << name;
  }
  fs::remove(folder_.path() / "model" / "all.bin");
  const auto without = load_onnx(folder_.path() / "model" / "network.onnx");
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().message.find("initializer '"), std::string::npos) << without.error().message;
}

}  // namespace
}  // namespace mangrove

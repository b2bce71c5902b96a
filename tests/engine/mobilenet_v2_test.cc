// MobileNetV2 for ImageNet, as an ONNX file from elsewhere with the logits of an independent implementation for one
// photograph. The file is too large for the repository: the test looks in $MANGROVE_DATA/models for
// mobilenetv2-1.0-224.onnx, grace_hopper-224.ppm and grace_hopper-224.mobilenetv2.logits.f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

constexpr std::int64_t kSide = 224, kClasses = 1001;

fs::path model_folder() {
  const char* data = std::getenv("MANGROVE_DATA");
  return fs::path(data == nullptr ? "" : data) / "models";
}

// The pixels of a binary PPM of 224 x 224, as [1, 3, 224, 224] in -1 to 1.
Tensor read_photograph(const fs::path& path) {
  const std::string bytes = read_file(path).value();
  Tensor image(DType::f32, {1, 3, kSide, kSide});
  const std::size_t pixels = static_cast<std::size_t>(image.elements());
  MG_CHECK(bytes.rfind("P6", 0) == 0 && bytes.size() > pixels);
  const char* data = bytes.data() + bytes.size() - pixels;
  for (std::size_t i = 0; i < pixels; ++i) {
    const auto value = static_cast<float>(static_cast<unsigned char>(data[i]));
    image.as<float>()[i % 3 * (pixels / 3) + i / 3] = value / 127.5f - 1;
  }
  return image;
}

Tensor read_logits(const fs::path& path) {
  const std::string bytes = read_file(path).value();
  Tensor logits(DType::f32, {1, kClasses});
  MG_CHECK(static_cast<Bytes>(bytes.size()) == logits.bytes());
  std::memcpy(logits.data(), bytes.data(), bytes.size());
  return logits;
}

TEST(MobileNetV2, GivesTheReferenceLogits) {
  const fs::path model = model_folder() / "mobilenetv2-1.0-224.onnx";
  if (!fs::exists(model)) GTEST_SKIP() << model << " is absent";
  const auto graph = load_onnx(model);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->parameter_elements(), 3'489'097);
  const Tensor photograph = read_photograph(model_folder() / "grace_hopper-224.ppm");
  const Tensor expected = read_logits(model_folder() / "grace_hopper-224.mobilenetv2.logits.f32");
  const auto optimized = optimize(*graph, {});
  ASSERT_TRUE(optimized.ok()) << optimized.error().message;
  for (const std::string& backend : backend_names()) {
    SCOPED_TRACE(backend);
    CompileOptions options;
    options.backend = backend;
    const auto execution = Execution::create(Program::compile(optimized->graph, options).value()).value();
    ASSERT_TRUE(execution->set_input("input", photograph).ok());
    execution->forward();
    const Tensor found = execution->output_tensor("logits");
    ASSERT_EQ(found.shape(), expected.shape());
    float largest = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kClasses); ++i) {
      largest = std::max(largest, std::abs(found.as<float>()[i] - expected.as<float>()[i]));
    }
    EXPECT_LE(largest, 1e-4f);
    const auto logits = found.as<float>();
    EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), 653) << "military uniform";
  }
}

}  // namespace
}  // namespace mangrove

// MobileNetV2 gives the logits of independent implementations: with weights made up from their names those of the plain
// loops of mobilenet_v2.py, which left mobilenet_v2.logits; with weights from elsewhere those of another program for
// one photograph. The latter files are too large for the repository: where $MANGROVE_DATA/models has them
// (mobilenetv2-1.0-224.onnx, grace_hopper-224.ppm, grace_hopper-224.mobilenetv2.logits.f32), there is a test of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"

#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

/// Uniform in offset - scale to offset + scale: SplitMix64 from the FNV-1a hash of the name.
std::vector<float> numbers(const std::string& name, std::int64_t count, double scale, double offset = 0) {
  std::uint64_t state = 0xcbf29ce484222325;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::vector<float> found;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    found.push_back(static_cast<float>(offset + scale * (2 * static_cast<double>(z >> 40) / (1 << 24) - 1)));
  }
  return found;
}

/// By its last name, such as "scale": those of batch normalization, weights, and the bias of the last layer.
std::vector<float> made_up(const std::string& name, const Shape& shape) {
  const std::string last = name.substr(name.rfind('.') + 1);
  const std::int64_t count = shape.elements();
  if (last == "scale") return numbers(name, count, 0.2, 1);
  if (last == "variance") return numbers(name, count, 0.3, 1);
  if (last == "weight")
    return numbers(name, count, std::sqrt(6.0 * static_cast<double>(shape[0]) / static_cast<double>(count)));
  return numbers(name, count, 0.1);
}

TEST(MobileNetV2, GivesTheLogitsOfPlainLoops) {
  const Graph initial =
      zoo::build_model("mobilenetv2-0.25", {.sample_shape = {3, 64, 64}, .classes = 10, .seed = 1}).value();
  std::map<std::string, Tensor> weights;
  for (const auto& [name, tensor] : initial.initializers())
    if (tensor.shape().rank() > 0)  // not the bounds of Clip
      weights[name] = Tensor::of<float>(tensor.shape(), made_up(name, tensor.shape()));
  const Graph graph = initial.with_initializers(weights).value();
  std::istringstream lines(read_file(testing::repository_path("tests/engine/mobilenet_v2.logits")).value());
  const std::vector<double> expected{std::istream_iterator<double>(lines), {}};
  ASSERT_EQ(expected.size(), 10u);
  const Tensor image = Tensor::of<float>({1, 3, 64, 64}, numbers("input", 3 * 64 * 64, 1));
  for (const std::string& backend : backend_names()) {
    for (const Graph& form : {graph, optimize(graph, {}).value().graph}) {
      const auto execution = Execution::create(Program::compile(form, {.backend = backend}).value()).value();
      ASSERT_TRUE(execution->set_input("input", image).ok());
      execution->forward();
      const auto logits = execution->output<float>("logits");
      for (std::size_t i = 0; i < expected.size(); ++i)  // which were computed with doubles
        EXPECT_NEAR(logits[i], expected[i], 2e-4) << backend << ", logit " << i;
    }
  }
}

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

std::vector<fs::path> models_from_elsewhere() {
  const fs::path model = model_folder() / "mobilenetv2-1.0-224.onnx";
  return fs::exists(model) ? std::vector{model} : std::vector<fs::path>();
}

class MobileNetV2FromElsewhere : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MobileNetV2FromElsewhere);
INSTANTIATE_TEST_SUITE_P(Models, MobileNetV2FromElsewhere, ::testing::ValuesIn(models_from_elsewhere()));

TEST_P(MobileNetV2FromElsewhere, GivesTheReferenceLogits) {
  const auto graph = load_onnx(GetParam());
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

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/colour_classifier.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/tensor/npy.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

Finished predict(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program(), "predict"});
  return run_program(arguments);
}

void write_bytes(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A graph from parts, saved; the test fails where it is none.
void save(const GraphParts& parts, const fs::path& path) {
  const auto graph = Graph::create(parts);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_TRUE(save_onnx(*graph, path).ok());
}

/// A PPM of one colour.
std::string ppm(int width, int height, const std::string& colour) {
  std::string text = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
  for (int i = 0; i < width * height; ++i) text += colour;
  return text;
}

Tensor read_npy(const fs::path& path) {
  return parse_npy(read_file(path).value()).value();
}

TEST(Predict, ArraysGiveWhatTheEngineGives) {
  const TemporaryFolder folder;
  const Graph graph = zoo::build_model("lenet", {}).value();
  ASSERT_TRUE(save_onnx(graph, folder / "m.onnx").ok());
  Tensor x(DType::f32, Shape{5, 1, 28, 28});
  Random random(3);
  for (float& element : x.as<float>()) element = static_cast<float>(random.uniform());
  write_bytes(folder / "x.npy", encode_npy(x));
  const auto execution = Execution::create(Program::compile(graph, {.batch = 5}).value()).value();
  ASSERT_TRUE(execution->set_input("input", x).ok());
  execution->forward();
  const Tensor expected = execution->output_tensor("logits");
  for (const char* batch : {"1", "2", "5", "100"}) {
    const Finished run = predict(
        {folder / "m.onnx", "--input", folder / "x.npy", "--output", folder / "y.npy", "--batch", batch, "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const json report = json::parse(run.out);
    EXPECT_EQ(report["samples"].size(), 5u);
    EXPECT_EQ(report["samples"][3]["input"], (folder / "x.npy").string() + "[3]");
    const Tensor y = read_npy(folder / "y.npy");
    ASSERT_EQ(y.shape(), (Shape{5, 10}));
    for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(y.as<float>()[i], expected.as<float>()[i], 1e-5);
  }
}

TEST(Predict, OneSampleNeedsNoBatchAndNumPysTypesAreTaken) {
  const TemporaryFolder folder;
  save(colour_classifier(), folder / "m.onnx");
  Tensor x(DType::f64, Shape{3, 4, 4});
  for (std::size_t i = 16; i < 32; ++i) x.as<double>()[i] = 0.5;
  write_bytes(folder / "x.npy", encode_npy(x));
  const Finished run = predict({folder / "m.onnx", "--input", folder / "x.npy", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json top = json::parse(run.out)["samples"][0]["top"];
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0]["class"], 1);
  EXPECT_NEAR(top[0]["probability"].get<double>(), std::exp(5) / (std::exp(5) + 2), 1e-5);
}

TEST(Predict, SeveralInputsAndOutputsGoByName) {
  const TemporaryFolder folder;
  GraphParts parts;
  parts.name = "two";
  parts.inputs = {{"a", {DType::f32, {kBatch, 2}}}, {"b", {DType::f32, {2}}}};
  parts.outputs = {"sum", "product"};
  parts.nodes = {Node{.name = "s", .op = "Add", .attributes = {}, .inputs = {"a", "b"}, .outputs = {"sum"}},
                 Node{.name = "p", .op = "Mul", .attributes = {}, .inputs = {"a", "b"}, .outputs = {"product"}}};
  save(parts, folder / "m.onnx");
  write_bytes(folder / "a.npy", encode_npy(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})));
  write_bytes(folder / "b.npy", encode_npy(Tensor::of<float>({2}, {10, 100})));
  const std::string a = "a=" + (folder / "a.npy").string(), b = "b=" + (folder / "b.npy").string();
  const Finished run = predict({folder / "m.onnx", "--input", a, "--input", b, "--batch", "2", "--output",
                                "product=" + (folder / "p.npy").string()});
  ASSERT_EQ(run.status, 0) << run.err;
  const Tensor product = read_npy(folder / "p.npy");
  EXPECT_EQ(product.shape(), (Shape{3, 2}));
  const auto values = product.as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{10, 200, 30, 400, 50, 600}));
  const Finished missing = predict({folder / "m.onnx", "--input", a});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("no array for input 'b' f32 [2]"), std::string::npos) << missing.err;
  const Finished unnamed = predict({folder / "m.onnx", "--input", a, "--input", b, "--output", folder / "y.npy"});
  EXPECT_EQ(unnamed.status, 2);
  EXPECT_NE(unnamed.err.find("sum and product"), std::string::npos) << unnamed.err;
}

TEST(Predict, ImagesAreResizedCroppedAndNormalized) {
  const TemporaryFolder folder;
  save(colour_classifier(), folder / "m.onnx");
  write_bytes(folder / "red.ppm", ppm(9, 6, "\xff\x33\x66"));  // 1, 0.2, 0.4
  const Finished run = predict({folder / "m.onnx", "--input", folder / "red.ppm", "--output", folder / "y.npy",
                                "--mean", "0.5,0.1,0", "--std", "0.5,1,2"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Tensor logits = read_npy(folder / "y.npy");
  EXPECT_NEAR(logits.as<float>()[0], 10 * (1 - 0.5) / 0.5, 1e-4);
  EXPECT_NEAR(logits.as<float>()[1], 10 * (0.2 - 0.1), 1e-4);
  EXPECT_NEAR(logits.as<float>()[2], 10 * 0.4 / 2, 1e-4);
}

TEST(Predict, MetadataNamesClassesAndNormalization) {
  const TemporaryFolder folder;
  GraphParts parts = colour_classifier();
  parts.metadata = {
      {"mangrove.classes", R"(["red", "green", "blue"])"}, {"mangrove.mean", "0.5"}, {"mangrove.std", "0.25"}};
  save(parts, folder / "m.onnx");
  write_bytes(folder / "g.ppm", ppm(4, 4, std::string("\x00\xff\x00", 3)));
  const auto arguments = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {folder / "m.onnx", "--input", folder / "g.ppm", "--output", folder / "y.npy", "--json"});
    return more;
  };
  const json report = json::parse(predict(arguments({})).out);
  EXPECT_EQ(report["samples"][0]["top"][0]["label"], "green");
  EXPECT_NEAR(read_npy(folder / "y.npy").as<float>()[1], 10 * (1 - 0.5) / 0.25, 1e-4);
  write_bytes(folder / "labels.txt", "rot\r\ngruen\n");
  const json other = json::parse(predict(arguments({"--labels", folder / "labels.txt", "--mean", "0"})).out);
  EXPECT_EQ(other["samples"][0]["top"][0]["label"], "gruen");
  EXPECT_EQ(other["samples"][0]["top"].back()["label"], "2");
  EXPECT_NEAR(read_npy(folder / "y.npy").as<float>()[1], 10 * 1 / 0.25, 1e-4);
}

TEST(Predict, AFolderHasALineForEachImageAndSaysWhichCannotBeRead) {
  const TemporaryFolder folder;
  save(colour_classifier(), folder / "m.onnx");
  fs::create_directories(folder / "images");
  write_bytes(folder / "images/a.ppm", ppm(4, 4, std::string("\xff\x00\x00", 3)));
  write_bytes(folder / "images/b.ppm", "P6 no image");
  write_bytes(folder / "images/c.ppm", ppm(20, 3, std::string("\x00\x00\xff", 3)));
  write_bytes(folder / "images/notes.txt", "not an image");
  for (const char* batch : {"1", "2", "8"}) {
    const Finished run = predict(
        {folder / "m.onnx", "--input", folder / "images", "--batch", batch, "--output", folder / "y.npy", "--json"});
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("1 of 3 samples could not be read"), std::string::npos) << run.err;
    const json report = json::parse(run.out);
    EXPECT_EQ(report["failed"], 1);
    const json samples = report["samples"];
    ASSERT_EQ(samples.size(), 3u);
    EXPECT_EQ(samples[0]["top"][0]["class"], 0);
    EXPECT_NE(samples[1]["error"].get<std::string>().find("b.ppm"), std::string::npos);
    EXPECT_EQ(samples[2]["top"][0]["class"], 2);
    const Tensor logits = read_npy(folder / "y.npy");
    for (std::size_t i = 0; i < 9; ++i) {
      if (i / 3 == 1) {
        EXPECT_TRUE(std::isnan(logits.as<float>()[i])) << "batch " << batch;
      } else {
        EXPECT_NEAR(logits.as<float>()[i], i == 0 || i == 8 ? 10 : 0, 1e-4) << "batch " << batch;
      }
    }
  }
  const Finished alone = predict({folder / "m.onnx", "--input", folder / "images/b.ppm"});
  EXPECT_EQ(alone.status, 1);
  EXPECT_NE(alone.err.find("b.ppm"), std::string::npos) << alone.err;
}

TEST(Predict, PreparesImagesAsInTraining) {
  const TemporaryFolder folder;
  const auto first_logit = [&](const std::string& recipe, std::vector<std::string> more) {
    GraphParts parts = colour_classifier();
    parts.metadata = {{"mangrove.augmentation", recipe}};
    save(parts, folder / "m.onnx");
    write_bytes(folder / "red.ppm", ppm(4, 4, std::string("\xff\x00\x00", 3)));
    more.insert(more.begin(), {folder / "m.onnx", "--input", folder / "red.ppm", "--output", folder / "y.npy"});
    const Finished run = predict(more);
    EXPECT_EQ(run.status, 0) << run.err;
    return read_npy(folder / "y.npy").as<float>()[0];
  };
  EXPECT_NEAR(first_logit("pad-crop:1,flip,normalise:0.5/0/0:0.25/1/1", {}), 10 * (1 - 0.5) / 0.25, 1e-4);
  EXPECT_NEAR(first_logit("normalise:0.5/0/0:0.25/1/1", {"--mean", "0", "--std", "1"}), 10, 1e-4) << "they win";
  const Finished half = predict({folder / "m.onnx", "--input", folder / "red.ppm", "--mean", "0"});
  EXPECT_EQ(half.status, 2);
  EXPECT_NE(half.err.find("give both or none"), std::string::npos) << half.err;
}

TEST(Predict, OpenDimensionsTakeTheGivenShape) {
  const TemporaryFolder folder;
  GraphParts parts = colour_classifier();
  parts.inputs[0].second.shape = {kBatch, 3, 97, 97};
  save(parts, folder / "m.onnx");
  std::string bytes = *read_file(folder / "m.onnx");
  // In protobuf's encoding: the dimensions of 97 become dimensions without a size, whose name is empty.
  const std::string fixed("\x0a\x02\x08\x61", 4), open("\x0a\x02\x12\x00", 4);
  int replaced = 0;
  for (std::size_t at = 0; (at = bytes.find(fixed, at)) != std::string::npos; ++replaced) bytes.replace(at, 4, open);
  ASSERT_EQ(replaced, 2);
  write_bytes(folder / "m.onnx", bytes);
  write_bytes(folder / "red.ppm", ppm(8, 8, std::string("\xff\x00\x00", 3)));
  const std::vector<std::string> arguments = {folder / "m.onnx", "--input", folder / "red.ppm", "--json"};
  const auto with_shape = [&](const std::string& shape) {
    std::vector<std::string> more = arguments;
    more.insert(more.end(), {"--input-shape", shape});
    return predict(more);
  };
  const Finished without = predict(arguments);
  EXPECT_EQ(without.status, 1);
  EXPECT_NE(without.err.find("input 'image': dimension 2 has no fixed size"), std::string::npos) << without.err;
  EXPECT_NE(without.err.find("--input-shape"), std::string::npos) << without.err;
  for (const char* shape : {"image=Nx3x5x6", "image=1x3x4x4"}) {
    const Finished run = with_shape(shape);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(json::parse(run.out)["samples"][0]["top"][0]["class"], 0) << shape;
  }
  for (const auto& [shape, message] : {std::pair("image=Nx3x5", "has rank 3, expected rank 4"),
                                       {"imago=Nx3x5x5", "did you mean 'image'?"},
                                       {"image=Nx3xNx5", "'image=Nx3xNx5' is not NAME=SHAPE"},
                                       {"image=Nx3x5x", "is not NAME=SHAPE"},
                                       {"Nx3x5x5", "is not NAME=SHAPE"},
                                       {"image=Nx3x5x5,image=Nx3x5x5", "'image' has two shapes"}}) {
    const Finished run = with_shape(shape);
    EXPECT_EQ(run.status, 2) << shape;
    EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
  }
  const Finished shown =
      run_program({program(), "model", "show", folder / "m.onnx", "--input-shape", "image=Nx3x5x6", "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(json::parse(shown.out)["inputs"][0]["shape"], (std::vector<int>{1, 3, 5, 6}));
}

TEST(Predict, RewritingPassesMayBeLeftOut) {
  const TemporaryFolder folder;
  save(colour_classifier(), folder / "m.onnx");
  write_bytes(folder / "red.ppm", ppm(4, 4, std::string("\xff\x00\x00", 3)));
  const Finished run =
      predict({folder / "m.onnx", "--input", folder / "red.ppm", "--disable-pass", "fold_constants,fuse", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["samples"][0]["top"][0]["class"], 0);
}

TEST(Predict, AModelOfAFixedBatchIsFilledUp) {
  const TemporaryFolder folder;
  GraphParts parts = colour_classifier();
  parts.inputs[0].second.shape = {2, 3, 4, 4};
  save(parts, folder / "m.onnx");
  std::vector<std::string> arguments = {folder / "m.onnx", "--json"};
  for (const char* colour : {"\xff\x01\x01", "\x01\xff\x01", "\x01\x01\xff"}) {
    const std::string file = folder / (std::to_string(arguments.size()) + ".ppm");
    write_bytes(file, ppm(4, 4, colour));
    arguments.insert(arguments.end(), {"--input", file});
  }
  const Finished run = predict(arguments);
  ASSERT_EQ(run.status, 0) << run.err;
  const json samples = json::parse(run.out)["samples"];
  ASSERT_EQ(samples.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(samples[static_cast<std::size_t>(i)]["top"][0]["class"], i);
}

struct PredictCommandUsage {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  const char* says;
};

class BadPredictUsage : public ::testing::TestWithParam<PredictCommandUsage> {};

TEST_P(BadPredictUsage, IsOneLineAndTheRightStatus) {
  const TemporaryFolder folder;
  save(colour_classifier(), folder / "m.onnx");
  write_bytes(folder / "red.ppm", ppm(4, 4, "\xff\x01\x01"));
  write_bytes(folder / "bad.npy", "no array");
  write_bytes(folder / "wrong.npy", encode_npy(Tensor(DType::f32, Shape{2, 3, 5, 4})));
  write_bytes(folder / "bytes.npy", encode_npy(Tensor(DType::u8, Shape{2, 3, 4, 4})));
  write_bytes(folder / "none.npy", encode_npy(Tensor(DType::f32, Shape{0, 3, 4, 4})));
  fs::create_directories(folder / "empty");
  std::vector<std::string> arguments;
  for (std::string argument : GetParam().arguments) {
    if (const auto at = argument.find("$T"); at != std::string::npos) argument.replace(at, 2, folder.path());
    arguments.push_back(argument);
  }
  const Finished run = predict(arguments);
  EXPECT_EQ(run.status, GetParam().status) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    Predict, BadPredictUsage,
    ::testing::Values(
        PredictCommandUsage{"no_input", {"$T/m.onnx"}, 2, "--input"},
        PredictCommandUsage{"no_model", {"$T/none.onnx", "--input", "$T/red.ppm"}, 2, "none.onnx"},
        PredictCommandUsage{"no_image", {"$T/m.onnx", "--input", "$T/none.ppm"}, 2, "none.ppm"},
        PredictCommandUsage{"empty_folder", {"$T/m.onnx", "--input", "$T/empty"}, 2, "no images"},
        PredictCommandUsage{"not_npy", {"$T/m.onnx", "--input", "$T/bad.npy"}, 1, "bad.npy: npy: not an npy file"},
        PredictCommandUsage{"wrong_shape",
                            {"$T/m.onnx", "--input", "$T/wrong.npy"},
                            2,
                            "f32 [2, 3, 5, 4], the model takes f32 [N, 3, 4, 4]"},
        PredictCommandUsage{"wrong_type", {"$T/m.onnx", "--input", "$T/bytes.npy"}, 2, "u8 [2, 3, 4, 4]"},
        PredictCommandUsage{"no_samples", {"$T/m.onnx", "--input", "$T/none.npy"}, 2, "[0, 3, 4, 4]"},
        PredictCommandUsage{"both", {"$T/m.onnx", "--input", "$T/wrong.npy", "--input", "$T/red.ppm"}, 2, "not both"},
        PredictCommandUsage{"mean", {"$T/m.onnx", "--input", "$T/red.ppm", "--mean", "0.5,x"}, 2, "--mean"},
        PredictCommandUsage{"two_means", {"$T/m.onnx", "--input", "$T/red.ppm", "--mean", "0.5,0.5"}, 2, "2 numbers"},
        PredictCommandUsage{"zero_std", {"$T/m.onnx", "--input", "$T/red.ppm", "--std", "0"}, 2, "--std"},
        PredictCommandUsage{"labels", {"$T/m.onnx", "--input", "$T/red.ppm", "--labels", "$T/none"}, 2, "--labels"},
        PredictCommandUsage{"pass",
                            {"$T/m.onnx", "--input", "$T/red.ppm", "--disable-pass", "fuze"},
                            2,
                            "disable_pass: no rewriting pass is called 'fuze'; did you mean 'fuse'?"},
        PredictCommandUsage{"backend", {"$T/m.onnx", "--input", "$T/red.ppm", "--backend", "cuda12"}, 2, "cuda12"},
        PredictCommandUsage{
            "output", {"$T/m.onnx", "--input", "$T/red.ppm", "--output", "$T/none/y.npy"}, 2, "none/y.npy"}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace mangrove

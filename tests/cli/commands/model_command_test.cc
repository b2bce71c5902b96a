#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

Finished model(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program(), "model"});
  return run_program(arguments);
}

TEST(ModelList, HasEveryModelOfTheZoo) {
  const json list = json::parse(model({"list", "--json"}).out);
  ASSERT_EQ(list["models"].size(), zoo::models().size());
  ASSERT_EQ(list["families"].size(), zoo::model_families().size());
  for (std::size_t i = 0; i < zoo::models().size(); ++i) {
    const zoo::ModelEntry& entry = zoo::models()[i];
    EXPECT_EQ(list["models"][i]["name"], entry.name);
    EXPECT_EQ(list["models"][i]["parameters"], entry.parameters);
    EXPECT_EQ(list["models"][i]["sample_shape"], entry.sample_shape.dims());
  }
}

TEST(ModelList, IsWhatTheDocumentationShows) {
  const auto page = read_file(testing::repository_path("docs/models.md"));
  ASSERT_TRUE(page.ok());
  const std::string table = model({"list"}).out;
  EXPECT_NE(page->find("```\n" + table + "```\n"), std::string::npos)
      << "docs/models.md differs from `mangrove model list`:\n"
      << table;
}

TEST(ModelShow, CountsShapesParametersAndWork) {
  const Finished run = model({"show", "lenet", "--batch", "2", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["inputs"], json::parse(R"([{"name": "input", "type": "f32", "shape": [2, 1, 28, 28]}])"));
  EXPECT_EQ(report["outputs"][0]["shape"], (std::vector<int>{2, 10}));
  EXPECT_EQ(report["totals"]["parameters"], 431080);
  EXPECT_EQ(report["totals"]["multiply_adds"], 2 * 2293000);
  const json& conv = report["operators"][0];
  EXPECT_EQ(conv["name"], "conv1");
  EXPECT_EQ(conv["operator"], "Conv");
  EXPECT_EQ(conv["outputs"][0], (std::vector<int>{2, 20, 24, 24}));
  EXPECT_EQ(conv["parameters"], 20 * 25 + 20);
  EXPECT_EQ(conv["multiply_adds"], 2 * 20 * 24 * 24 * 25);
  EXPECT_EQ(conv["flops"], 2 * 2 * 20 * 24 * 24 * 25);
  EXPECT_EQ(conv["activation_bytes"], 4 * 2 * 20 * 24 * 24);
  EXPECT_NE(run.err.find("431,080"), std::string::npos) << run.err;
}

TEST(ModelShow, TakesOtherSizesThanThePaper) {
  const json report =
      json::parse(model({"show", "mobilenet-0.25", "--sample-shape", "1,64,48", "--classes", "3", "--json"}).out);
  EXPECT_EQ(report["inputs"][0]["shape"], (std::vector<int>{1, 1, 64, 48}));
  EXPECT_EQ(report["outputs"][0]["shape"], (std::vector<int>{1, 3}));
}

TEST(ModelShow, WritesGraphviz) {
  const Finished run = model({"show", "resnet-8", "--dot"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out.substr(0, 21), "digraph \"resnet-8\" {\n");
  EXPECT_NE(run.out.find("  \"conv1\" [label=\"Conv\\nconv1\"];\n"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("  \"input input\" -> \"conv1\" [label=\"[N, 3, 32, 32]\"];\n"), std::string::npos);
  EXPECT_NE(run.out.find("  \"fc\" -> \"output logits\" [label=\"[N, 10]\"];\n"), std::string::npos);
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '{'), std::count(run.out.begin(), run.out.end(), '}'));
}

TEST(ModelExport, WritesWhatTheZooBuilds) {
  const TemporaryFolder folder;
  const std::string file = folder / "wrn.onnx";
  const Finished run = model({"export", "wrn-10-1", "--classes", "7", "--seed", "5", "--output", file, "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["output"], file);
  const auto graph = load_onnx(file);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Graph built = zoo::build_model("wrn-10-1", {.sample_shape = {3, 32, 32}, .classes = 7, .seed = 5}).value();
  EXPECT_EQ(encode_onnx(*graph), encode_onnx(built));
  const json report = json::parse(model({"show", file, "--json"}).out);
  EXPECT_EQ(report["model"], "wrn-10-1");
  EXPECT_EQ(report["totals"]["parameters"], built.parameter_elements());
}

struct ModelCommandUsage {
  const char* name;
  std::vector<std::string> arguments;
  const char* says;
};

class BadModelUsage : public ::testing::TestWithParam<ModelCommandUsage> {};

TEST_P(BadModelUsage, IsOneLineAndStatusTwo) {
  const Finished run = model(GetParam().arguments);
  EXPECT_EQ(run.status, 2) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    Model, BadModelUsage,
    ::testing::Values(ModelCommandUsage{"unknown", {"show", "resnett-20"}, "did you mean 'resnet-20'"},
                      ModelCommandUsage{"depth", {"show", "resnet-21"}, "D = 6n + 2"},
                      ModelCommandUsage{
                          "shape", {"show", "lenet", "--sample-shape", "1x28x28"}, "--sample-shape: '1x28x28'"},
                      ModelCommandUsage{"small", {"show", "lenet", "--sample-shape", "1,8,8"}, "too small"},
                      ModelCommandUsage{"no_output", {"export", "lenet"}, "--output"},
                      ModelCommandUsage{"no_folder", {"export", "lenet", "--output", "/none/x.onnx"}, "/none/x.onnx"},
                      ModelCommandUsage{"no_file", {"show", "/none.onnx"}, "/none.onnx"},
                      ModelCommandUsage{"no_action", {}, "subcommand"}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace mangrove

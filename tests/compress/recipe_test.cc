#include "mangrove/compress/recipe.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/base/temporary_folder.h"
#include "tests/compress/workplaces.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::compress {
namespace {

std::string problem(const std::string& text) {
  const auto recipe = parse_recipe(text, "r.yaml");
  EXPECT_EQ(recipe.code(), Code::invalid_argument) << text;
  return recipe.ok() ? "" : recipe.error().message;
}

TEST(Recipe, IsAListOfStepsWithTheirKeys) {
  const auto recipe = parse_recipe("- prune: {keep: 0.5, rounds: 7}\n- share\n- train:\n    epochs: 2\n", "r.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  ASSERT_EQ(recipe->steps.size(), 3u);
  EXPECT_EQ(recipe->steps[0].row->name, "prune");
  EXPECT_EQ(recipe->steps[0].method->rounds(), 7);
  EXPECT_EQ(recipe->steps[0].method->keys().find("keep")->get(), "0.5");
  EXPECT_EQ(recipe->steps[2].method->keys().find("epochs")->get(), "2");
}

TEST(Recipe, EveryNamedOneCanBeRead) {
  for (const NamedRecipe& named : named_recipes()) {
    const auto recipe = open_recipe(std::string(named.name));
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
  }
  EXPECT_EQ(open_recipe("deep_compresion").code(), Code::not_found);
  EXPECT_NE(open_recipe("deep_compresion").error().message.find("deep_compression"), std::string::npos);
}

TEST(Recipe, MessagesSayWhereAndWhat) {
  EXPECT_NE(problem("- prun: {keep: 0.5}\n").find("r.yaml:1: unknown method 'prun'; did you mean 'prune'?"),
            std::string::npos);
  EXPECT_NE(problem("- share\n- prune:\n    kep: 0.5\n").find("r.yaml:3"), std::string::npos);
  EXPECT_NE(problem("- prune: {keep: 1.5}\n").find("keep"), std::string::npos);
  EXPECT_NE(problem("- prune: {by: colour}\n").find("colour"), std::string::npos);
  EXPECT_NE(problem("- prune: {keep: 0.5, keep: 0.4}\n").find("twice"), std::string::npos);
  EXPECT_NE(problem("- prune: {keep: [1]}\n").find("single value"), std::string::npos);
  EXPECT_NE(problem("- {prune: {}, share: {}}\n").find("expected a step"), std::string::npos);
  EXPECT_NE(problem("prune: 1").find("not a recipe"), std::string::npos);
  EXPECT_NE(problem("").find("not a recipe"), std::string::npos);
  EXPECT_NE(problem("- [").find("not YAML"), std::string::npos);
  EXPECT_NE(problem(std::string(100'000, ' ')).find("64 KiB"), std::string::npos);
  std::string steps;
  for (int i = 0; i < 101; ++i) steps += "- share\n";
  EXPECT_NE(problem(steps).find("not a recipe"), std::string::npos);
}

TEST(Recipe, GoesOnBitForBitWhereItStopped) {
  constexpr const char* kRecipe =
      "- prune: {keep: 0.2, rounds: 3, epochs: 1, by: sensitivity}\n- share: {fc_bits: 3, epochs: 1}\n";
  const Graph graph = trained_perceptron();
  const Workplace workplace = glyph_workplace(graph, 320);
  const Network whole = cooked(kRecipe, {graph, {}}, workplace);
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "m.progress";
  const Recipe recipe = parse_recipe(kRecipe, "recipe").value();
  RecipeProgress progress{"as it was", 0, 0, {graph, {}}};
  int rounds = 0;
  for (bool is_done = false; !is_done; ++rounds) {
    std::stop_source stop;
    Workplace stopped = workplace;
    stopped.stop = stop.get_token();
    const Status status = run_recipe(recipe, progress, stopped, [&](const RecipeProgress& reached) {
      stop.request_stop();  // after each round
      return save_progress(reached, file);
    });
    is_done = status.ok();
    if (!is_done) {
      EXPECT_EQ(status.code(), Code::cancelled);
    }
    const auto kept = load_progress(file);
    ASSERT_TRUE(kept.ok()) << kept.error().message;
    EXPECT_EQ(kept->setting, "as it was");
    progress = *kept;
  }
  EXPECT_EQ(rounds, 4);
  EXPECT_EQ(encode_onnx(progress.network.graph), encode_onnx(whole.graph));
}

TEST(Recipe, AProgressFileThatIsDamagedIsRefused) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "m.progress";
  EXPECT_EQ(load_progress(file).code(), Code::not_found);
  const Graph graph = zoo::build_model("mlp-8", {}).value();
  ASSERT_TRUE(save_progress({"s", 1, 2, {graph, {{"fc1.weight", Tensor(DType::i32, {8, 784})}}}}, file).ok());
  const auto whole = load_progress(file);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->step, 1);
  EXPECT_EQ(whole->round, 2);
  EXPECT_EQ(whole->network.constraints.size(), 1u);
  const std::string bytes = read_file(file).value();
  ASSERT_TRUE(write_file_atomically(file, bytes.substr(0, bytes.size() / 2)).ok());
  EXPECT_EQ(load_progress(file).code(), Code::data_loss);
  ASSERT_TRUE(save_progress({"s", 0, 0, {graph, {{"fc1.weight", Tensor(DType::i32, {8})}}}}, file).ok());
  EXPECT_NE(load_progress(file).error().message.find("'fc1.weight' fits no parameter"), std::string::npos);
  for (const std::int32_t number : {-2, 8 * 784 + 1, std::numeric_limits<std::int32_t>::max()}) {
    Tensor numbers(DType::i32, {8, 784});
    numbers.as<std::int32_t>()[5] = number;  // so many values would take any amount of memory
    ASSERT_TRUE(save_progress({"s", 0, 0, {graph, {{"fc1.weight", numbers}}}}, file).ok());
    EXPECT_NE(load_progress(file).error().message.find("impossible numbers"), std::string::npos) << number;
  }
}

}  // namespace
}  // namespace mangrove::compress

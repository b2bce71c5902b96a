#include "tests/compress/workplaces.h"

#include "mangrove/base/check.h"
#include "mangrove/data/subset.h"
#include "mangrove/learn/trainer.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::compress {

Workplace glyph_workplace(const Graph& graph, std::int64_t samples) {
  Workplace workplace;
  workplace.train = data::first_samples(data::open_dataset("glyphs", data::Split::train, {}).value(), samples);
  workplace.load_teacher = [graph](const std::string&) -> Result<Graph> { return graph; };
  return workplace;
}

Graph trained_perceptron() {
  const auto dataset = data::open_dataset("glyphs", data::Split::train, {}).value();
  zoo::ModelOptions model;
  model.classes = dataset->classes();
  learn::Trainer::Options options;
  options.replica.batch = 64;
  options.learning_rate = 0.1f;
  const auto trainer =
      learn::Trainer::create(zoo::build_model("mlp-64-32", model).value(), data::first_samples(dataset, 4000), options)
          .value();
  for (int step = 0; step < 120; ++step) MG_CHECK(trainer->step().ok());
  return trainer->model();
}

double glyph_accuracy(const Graph& graph) {
  const auto replica = learn::Replica::create(graph, {.batch = 100, .mode = Mode::inference}).value();
  const auto test = data::first_samples(data::open_dataset("glyphs", data::Split::test, {}).value(), 2000);
  return learn::evaluate(*replica, test).value().confusion.accuracy();
}

Network cooked(const std::string& recipe, Network network, const Workplace& workplace) {
  const auto read = parse_recipe(recipe, "recipe");
  MG_CHECK_MSG(read.ok(), read.error().message);
  RecipeProgress progress{"", 0, 0, std::move(network)};
  const Status done = run_recipe(*read, progress, workplace, [](const RecipeProgress&) { return Status(); });
  MG_CHECK_MSG(done.ok(), done.error().message);
  return std::move(progress.network);
}

}  // namespace mangrove::compress

#include "mangrove/compress/recipe.h"

#include <yaml-cpp/yaml.h>

#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/base/table.h"

namespace mangrove::compress {
namespace {

constexpr std::size_t kLongestRecipe = std::size_t{64} << 10;
constexpr std::size_t kMostSteps = 100;

std::string line_text(const std::string& where, const YAML::Node& node) {
  return where + ":" + std::to_string(node.Mark().line + 1);
}

Error wrong_recipe(const std::string& where, const YAML::Node& node, const std::string& what) {
  return make_error(Code::invalid_argument, line_text(where, node) + ": " + what);
}

Status set_keys(const std::string& where, const YAML::Node& settings, const Keys& keys) {
  if (settings.IsNull()) return {};
  if (!settings.IsMap()) return wrong_recipe(where, settings, "expected keys and values, e.g. {epochs: 2}");
  std::map<std::string, int> seen;
  for (const auto& entry : settings) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar())
      return wrong_recipe(where, entry.first, "a key needs a single value");
    const std::string key = entry.first.Scalar();
    if (!seen.emplace(key, 0).second) return wrong_recipe(where, entry.first, "key '" + key + "' is given twice");
    const Status set = keys.set(key, entry.second.Scalar());
    if (!set.ok()) return wrong_recipe(where, entry.first, set.error().message);
  }
  return {};
}

/// "- prune" or "- prune: {keep: 0.1}".
Result<Recipe::Step> step_of(const std::string& where, const YAML::Node& node) {
  const bool is_bare = node.IsScalar();
  if (!is_bare && (!node.IsMap() || node.size() != 1 || !node.begin()->first.IsScalar()))
    return wrong_recipe(where, node, "expected a step such as '- prune: {keep: 0.1}'");
  const std::string name = is_bare ? node.Scalar() : node.begin()->first.Scalar();
  const auto row = find_row(methods(), name, "unknown method", Code::invalid_argument);
  if (!row.ok()) return wrong_recipe(where, node, row.error().message);
  Recipe::Step step{*row, (*row)->make()};
  if (!is_bare) MG_RETURN_IF_ERROR(set_keys(where, node.begin()->second, step.method->keys()).context(name));
  const Status checked = step.method->check();
  if (!checked.ok()) return wrong_recipe(where, node, name + ": " + checked.error().message);
  return step;
}

Result<std::vector<Recipe::Step>> steps_of(const std::string& where, const YAML::Node& root) {
  if (!root.IsSequence() || root.size() == 0 || root.size() > kMostSteps)
    return make_error(Code::invalid_argument, where + ": not a recipe: expected a list of 1 to " +
                                                  std::to_string(kMostSteps) + " steps such as '- prune: {keep: 0.1}'");
  std::vector<Recipe::Step> steps;
  for (const YAML::Node& node : root) {
    MG_TRY(Recipe::Step step, step_of(where, node));
    steps.push_back(std::move(step));
  }
  return steps;
}

/// With seeds of its own for every step, and phases that name the round: "prune 2/4: train".
Workplace workplace_of_round(const Workplace& workplace, const Recipe::Step& step, const RecipeProgress& progress) {
  constexpr std::uint64_t kSeedsOfAStep = 10'000;  // more than a method has rounds
  Workplace here = workplace;
  here.seed += kSeedsOfAStep * static_cast<std::uint64_t>(progress.step);
  if (!workplace.progress) return here;
  std::string round(step.row->name);
  if (const std::int64_t rounds = step.method->rounds(); rounds > 1) {
    round += ' ';
    round += std::to_string(progress.round + 1);
    round += '/';
    round += std::to_string(rounds);
  }
  round += ": ";
  here.progress = [tell = workplace.progress, round](const std::string& piece, std::int64_t done, std::int64_t total) {
    std::string phase = round;
    phase += piece;
    tell(phase, done, total);
  };
  return here;
}

}  // namespace

Result<Recipe> parse_recipe(const std::string& text, const std::string& where) {
  if (text.size() > kLongestRecipe)
    return make_error(Code::invalid_argument, where + ": a recipe has at most 64 KiB, this one has " +
                                                  format_bytes(static_cast<Bytes>(text.size())));
  try {
    MG_TRY(std::vector<Recipe::Step> steps, steps_of(where, YAML::Load(text)));
    return Recipe{text, std::move(steps)};
  } catch (const YAML::Exception& exception) {
    return make_error(Code::invalid_argument, where + ": not YAML: " + exception.what());
  }
}

Result<Recipe> open_recipe(const std::string& name_or_file) {
  const auto named = find_row(named_recipes(), name_or_file, "unknown recipe");
  if (named.ok()) return parse_recipe(std::string((*named)->text), name_or_file);
  std::error_code unreadable;
  if (!fs::exists(name_or_file, unreadable))
    return make_error(Code::not_found, named.error().message + "; there is no file of this name either");
  MG_TRY(const std::string text, read_file(name_or_file));
  return parse_recipe(text, name_or_file);
}

Status run_recipe(const Recipe& recipe, RecipeProgress& progress, const Workplace& workplace,
                  const std::function<Status(const RecipeProgress&)>& save) {
  for (; progress.step < static_cast<std::int64_t>(recipe.steps.size()); ++progress.step, progress.round = 0) {
    const Recipe::Step& step = recipe.steps[static_cast<std::size_t>(progress.step)];
    const std::string what =
        "step " + std::to_string(progress.step + 1) + " of the recipe (" + std::string(step.row->name) + ")";
    while (progress.round < step.method->rounds()) {
      const Workplace here = workplace_of_round(workplace, step, progress);
      MG_TRY(progress.network, step.method->run(progress.network, progress.round, here).context(what));
      ++progress.round;
      MG_RETURN_IF_ERROR(save(progress));
    }
  }
  return {};
}

}  // namespace mangrove::compress

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/compress/method.h"

namespace mangrove::compress {

/// A recipe that comes with the program.
struct NamedRecipe {
  std::string_view name;     // "deep_compression"
  std::string_view summary;  // one line, with its source
  std::string_view text;     // YAML
};
std::span<const NamedRecipe> named_recipes();

/// A list of steps, each a method with its settings:
///
///   - prune: {keep: 0.08, rounds: 6, epochs: 2}
///   - share: {conv_bits: 8, fc_bits: 5}
struct Recipe {
  struct Step {
    const MethodRow* row;
    std::unique_ptr<Method> method;
  };
  std::string text;  // as it was read
  std::vector<Step> steps;
};

/// where: the name of the file, for messages. errors: invalid_argument (not YAML, no list, more than 100 steps or 64
/// KiB, an unknown method or key, a value that does not fit; names file, line, step and key, and the nearest known
/// one).
Result<Recipe> parse_recipe(const std::string& text, const std::string& where);
/// A recipe of a name, or of a file. errors: those of parse_recipe and read_file; not_found (neither a name nor a
/// file).
Result<Recipe> open_recipe(const std::string& name_or_file);

/// Where the work on a recipe is: what is kept when it stops.
struct RecipeProgress {
  std::string setting;     // of the work, as text: what must be the same to go on
  std::int64_t step = 0;   // steps done
  std::int64_t round = 0;  // rounds of the next step that are done
  Network network;
};

/// Goes on with the recipe until its end. After each round `save` gets the progress; a round that is stopped in its
/// middle is lost. Results do not depend on where it stopped.
/// workplace.progress is told phases like "prune 2/4".
/// errors: those of Method::run, with step and method in front; those of `save`; cancelled: progress is that of the
/// last round.
Status run_recipe(const Recipe& recipe, RecipeProgress& progress, const Workplace& workplace,
                  const std::function<Status(const RecipeProgress&)>& save);

/// Writes it as one safetensors file, at once or not at all (see write_private_file).
Status save_progress(const RecipeProgress& progress, const fs::path& path);
/// errors: those of read_file; data_loss (not such a file, damaged).
Result<RecipeProgress> load_progress(const fs::path& path);

}  // namespace mangrove::compress

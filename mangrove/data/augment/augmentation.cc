#include "mangrove/data/augment/augmentation.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/parse_number.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/data/augment/transform.h"

namespace mangrove::data {
namespace {

struct Row {
  std::string_view name;
  TransformInfo info;
  std::size_t max_arguments;
  bool random;       // left out when not training
  bool images_only;  // needs [C, H, W]
  bool unit_range;   // needs values from 0 to 1: not behind normalise or zca
  MadeTransform (*make)(RecipeItem& item, const TransformContext& context);  // null: mixes samples
};

/// The whole list. In the order of the names.
constexpr Row kRows[] = {
    {"colour-jitter",
     {"colour-jitter:B[:C[:S]]", "brightness, contrast and saturation times 1-B..1+B, 1-C..1+C, 1-S..1+S"},
     3,
     true,
     true,
     true,
     &make_colour_jitter},
    {"cutout",
     {"cutout:SIDE", "a square of zeros anywhere, in part outside (DeVries & Taylor 2017)"},
     1,
     true,
     true,
     false,
     &make_cutout},
    {"drop-views",
     {"drop-views:N[:0.2]",
      "of N parts of the image, as N devices see them, each zeros with this probability, not all"},
     2,
     true,
     true,
     false,
     &make_drop_views},
    {"flip", {"flip[:0.5]", "left and right exchanged, with this probability"}, 1, true, true, false, &make_flip},
    {"flip-vertical",
     {"flip-vertical[:0.5]", "top and bottom exchanged, with this probability"},
     1,
     true,
     true,
     false,
     &make_flip_vertical},
    {"mixup",
     {"mixup:ALPHA", "a sample and its label mixed with another's, shares from Beta(ALPHA, ALPHA) (Zhang et al. 2018)"},
     1,
     true,
     false,
     false,
     nullptr},
    {"normalise",
     {"normalise[:MEAN/..:DEVIATION/..]", "(x - mean) / deviation per channel; of the training samples if not given"},
     2,
     false,
     false,
     false,
     &make_normalise},
    {"pad-crop",
     {"pad-crop:PIXELS", "padded with zeros on each side, then cut anywhere to the size before"},
     1,
     true,
     true,
     false,
     &make_pad_crop},
    {"resized-crop",
     {"resized-crop:AREA", "a part of AREA..1 of the image with sides of 3:4..4:3, resized to the whole"},
     1,
     true,
     true,
     false,
     &make_resized_crop},
    {"rotation",
     {"rotation:DEGREES", "turned by up to this, either way; edges are continued"},
     1,
     true,
     true,
     false,
     &make_rotation},
    {"translation",
     {"translation:SHARE", "moved by up to this share of the sides; edges are continued"},
     1,
     true,
     true,
     false,
     &make_translation},
    {"zca",
     {"zca[:EPSILON]",
      "ZCA whitening, fitted to training samples (Bell & Sejnowski 1997); at most 4,096 values a sample"},
     1,
     false,
     false,
     false,
     &make_zca},
    {"zoom", {"zoom:SHARE", "enlarged 1-SHARE..1+SHARE times; edges are continued"}, 1, true, true, false, &make_zoom},
};

constexpr NamedRecipe kRecipes[] = {
    {"cifar", "pad-crop:4,flip,normalise", "for small photographs (He et al. 2016, section 4.2)"},
    {"imagenet-small", "resized-crop:0.25,flip,colour-jitter:0.2:0.2:0.2,normalise",
     "for photographs of objects that fill part of the picture"},
    {"leaves", "flip,flip-vertical,rotation:30,zoom:0.15,colour-jitter:0.2:0.2:0.2,normalise",
     "for close-ups without an up and down"},
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Error unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  for (const NamedRecipe& recipe : kRecipes) names.emplace_back(recipe.name);
  return make_error(Code::not_found, "unknown transformation '" + name + "'" + suggestion(name, names));
}

/// The items of a recipe, named recipes replaced by theirs.
std::vector<RecipeItem> parse(std::string_view recipe) {
  std::vector<RecipeItem> items;
  if (recipe.empty() || recipe == "none") return items;
  for (const std::string& text : split(recipe, ',')) {
    const auto* named = std::ranges::find(kRecipes, text, &NamedRecipe::name);
    if (named != std::end(kRecipes)) {
      for (RecipeItem& item : parse(named->text)) items.push_back(std::move(item));
      continue;
    }
    auto words = split(text, ':');
    items.push_back({words.front(), {words.begin() + 1, words.end()}});
  }
  return items;
}

Status check_item(const Row& row, const RecipeItem& item, bool unit_range, const Shape& sample) {
  if (item.arguments.size() > row.max_arguments)
    return make_error(Code::invalid_argument,
                      std::to_string(item.arguments.size()) + " arguments: expected " + std::string(row.info.usage));
  if (row.images_only && sample.rank() != 3)
    return make_error(Code::invalid_argument, "for images [C, H, W] only, the samples are " + to_string(sample));
  if (row.unit_range && !unit_range)
    return make_error(Code::invalid_argument, "must come before normalise and zca, which change the range of values");
  return {};
}

}  // namespace

std::vector<TransformInfo> known_transforms() {
  std::vector<TransformInfo> infos;
  for (const Row& row : kRows) infos.push_back(row.info);
  return infos;
}

std::span<const NamedRecipe> named_recipes() {
  return kRecipes;
}

bool depends_on_other_samples(std::string_view recipe) {
  constexpr std::size_t kStatistics = 2;  // that normalise takes
  return std::ranges::any_of(parse(recipe), [](const RecipeItem& item) {
    return item.name == "mixup" || item.name == "zca" ||
           (item.name == "normalise" && item.arguments.size() < kStatistics);
  });
}

Result<double> RecipeItem::number(std::size_t at, double otherwise, double low, double high) const {
  if (at >= arguments.size()) return otherwise;
  return parse_number(arguments[at], low, high);
}

Result<double> RecipeItem::required_number(std::size_t at, double low, double high) const {
  if (at >= arguments.size()) return make_error(Code::invalid_argument, "needs a number behind its name");
  return number(at, 0, low, high);
}

Result<std::shared_ptr<const Dataset>> open_training_samples(const TransformContext& context) {
  MG_TRY(auto train, context.open_training());
  if (train->sample_shape() == context.sample) return train;
  return make_error(Code::invalid_argument, "the training samples have shape " + to_string(train->sample_shape()) +
                                                ", those to be transformed " + to_string(context.sample));
}

Augmentation::~Augmentation() = default;

Result<std::shared_ptr<const Augmentation>> Augmentation::create(std::string_view recipe, const Dataset& train) {
  const auto borrow = [&train] { return std::shared_ptr<const Dataset>(std::shared_ptr<const Dataset>(), &train); };
  return create(recipe, train.sample_shape(), borrow);
}

Result<std::shared_ptr<const Augmentation>> Augmentation::create(std::string_view recipe, const Shape& sample,
                                                                 const OpenTraining& open_training) {
  std::shared_ptr<Augmentation> made(new Augmentation);
  bool unit_range = true;
  for (RecipeItem& item : parse(recipe)) {
    const auto* row = std::ranges::find(kRows, item.name, &Row::name);
    if (row == std::end(kRows)) return unknown(item.name);
    MG_RETURN_IF_ERROR(check_item(*row, item, unit_range, sample).context(item.name));
    if (row->make != nullptr) {
      MG_TRY(auto transform, row->make(item, {sample, Planes(sample), open_training}).context(item.name));
      made->parts_.push_back({std::move(transform), row->random});
    } else {
      MG_TRY(made->mixup_alpha_, item.required_number(0, 0.01, 2).context(item.name));
    }
    unit_range = unit_range && row->random;
    made->text_ += (made->text_.empty() ? "" : ",") + item.name;
    for (const std::string& argument : item.arguments) made->text_ += ":" + argument;
  }
  return std::shared_ptr<const Augmentation>(std::move(made));
}

std::string Augmentation::text() const {
  return text_;
}

void Augmentation::apply(std::span<float> samples, std::span<Random> randoms, bool training) const {
  for (const Part& part : parts_)
    if (training || !part.random) part.transform->apply(samples, randoms);
}

/// source: Jöhnk, Erzeugung von betaverteilten und gammaverteilten Zufallszahlen, Metrika 1964.
float Augmentation::mix_weight(Random& random) const {
  while (true) {
    const double x = std::pow(random.uniform(), 1 / mixup_alpha_), y = std::pow(random.uniform(), 1 / mixup_alpha_);
    if (x + y <= 1 && x + y > 0) return static_cast<float>(x / (x + y));
  }
}

}  // namespace mangrove::data

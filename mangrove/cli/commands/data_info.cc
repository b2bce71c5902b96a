#include "mangrove/cli/commands/data_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/wrapped_text.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/statistics.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, data::Split> kSplits[] = {
    {"train", data::Split::train}, {"validation", data::Split::validation}, {"test", data::Split::test}};

/// Samples of each class.
std::vector<std::uint32_t> class_counts(const data::Dataset& dataset) {
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(dataset.classes()));
  for (std::uint32_t i = 0; i < dataset.size(); ++i) ++counts[static_cast<std::size_t>(dataset.label(i))];
  return counts;
}

std::string numbers(const json& list) {
  std::string text;
  for (const json& number : list) text += fmt::format("{}{:.4f}", text.empty() ? "" : ", ", number.get<double>());
  return text;
}

/// A line for each coarse class: the classes below it.
std::string hierarchy_rows(const json& description) {
  if (!description.contains("coarse_classes")) return "";
  const auto classes = description["classes"].get<std::vector<std::string>>();
  const auto coarse = description["coarse_classes"].get<std::vector<std::string>>();
  const auto above = description["coarse_of_class"].get<std::vector<std::int32_t>>();
  std::string rows;
  for (std::size_t c = 0; c < coarse.size(); ++c) {
    std::vector<std::string> below;
    for (std::size_t i = 0; i < classes.size(); ++i)
      if (above[i] == static_cast<std::int32_t>(c)) below.push_back(classes[i]);
    rows += fmt::format("\n    {:<30} {}", coarse[c], fmt::join(below, " "));
  }
  return rows;
}

}  // namespace

Result<json> describe_known_data(const fs::path& folder) {
  json sets = json::array(), kinds = json::array(), transformations = json::array(), recipes = json::array();
  for (const data::DatasetInfo& info : data::known_datasets()) {
    json entry = {{"name", info.name}, {"usage", info.usage}, {"summary", info.summary}};
    if (info.is_kind) {
      kinds.push_back(std::move(entry));
      continue;
    }
    MG_TRY(entry["present"], data::is_present(info.name, folder));
    sets.push_back(std::move(entry));
  }
  for (const data::TransformInfo& info : data::known_transforms())
    transformations.push_back({{"usage", info.usage}, {"summary", info.summary}});
  for (const data::NamedRecipe& recipe : data::named_recipes())
    recipes.push_back({{"name", recipe.name}, {"recipe", recipe.text}, {"summary", recipe.summary}});
  json registered = json::array();
  for (const data::RegisteredData& data : data::registered_data(folder))
    registered.push_back({{"name", data.name}, {"path", data.path.string()}});
  return json{{"folder", folder.string()},          {"registered", registered}, {"data_sets", sets}, {"kinds", kinds},
              {"transformations", transformations}, {"recipes", recipes}};
}

std::string known_data_table(const json& known) {
  const auto text = [](const json& entry, const char* key) { return entry[key].get<std::string>(); };
  std::string table = fmt::format("data folder: {}\n", text(known, "folder"));
  for (const json& set : known["data_sets"])
    table += fmt::format("  {:<17} {}; {}\n", text(set, "name"), text(set, "summary"),
                         set["present"].get<bool>() ? "here" : "not here");
  if (!known["registered"].empty()) table += "registered, also for jobs of others:\n";
  for (const json& data : known["registered"])
    table += fmt::format("  {:<17} {}\n", text(data, "name"), text(data, "path"));
  table += "your own files, for --data:\n";
  for (const json& kind : known["kinds"])
    table += fmt::format("  {}\n      {}\n", text(kind, "usage"), text(kind, "summary"));
  table += wrapped(
      "options of all of them: ,validation=0.1 and ,test=0.2 carve these splits from the training samples (a share, or "
      "a number of samples), ,split-seed=1 chooses them, ,balance=yes repeats training samples of small classes, "
      ",balance=N makes N of each class, ,labels=coarse takes the classes above the data's own",
      0);
  table += "transformations, for --augment, separated by commas:\n";
  for (const json& row : known["transformations"])
    table += fmt::format("  {:<40} {}\n", text(row, "usage"), text(row, "summary"));
  for (const json& row : known["recipes"])
    table += fmt::format("  {:<40} {}: {}\n", text(row, "name"), text(row, "summary"), text(row, "recipe"));
  return table;
}

Result<json> describe_data(const std::string& spec, const fs::path& folder) {
  json splits = json::object();
  std::shared_ptr<const data::Dataset> train;
  for (const auto& [name, split] : kSplits) {
    auto opened = data::open_dataset(spec, split, folder);
    if (!opened.ok() && (split == data::Split::train || opened.code() != Code::not_found)) return opened.error();
    if (!opened.ok()) continue;  // no such split
    if (split == data::Split::train) train = *opened;
    splits[name] = {{"samples", (*opened)->size()}, {"per_class", class_counts(**opened)}};
  }
  MG_TRY(const std::string summary, data::dataset_summary(spec));
  MG_TRY(const data::ChannelStatistics statistics, data::channel_statistics(*train));
  json description = {{"data", spec},
                      {"summary", summary},
                      {"title", train->title()},
                      {"sample_shape", train->sample_shape().dims()},
                      {"classes", train->class_names()},
                      {"splits", splits},
                      {"mean", statistics.mean},
                      {"deviation", statistics.deviation}};
  if (const data::CoarseLabels* coarse = train->coarse()) {
    description["coarse_classes"] = coarse->names;
    description["coarse_of_class"] = coarse->of_class;
  }
  return description;
}

std::string data_table(const json& description) {
  constexpr std::size_t kMostClasses = 40;  // more are not listed
  const auto title = description["title"].get<std::string>();
  std::string table = fmt::format("{}: {}\n", description["data"].get<std::string>(),
                                  title.empty() ? description["summary"].get<std::string>() : title);
  const Shape shape(description["sample_shape"].get<std::vector<std::int64_t>>());
  table += fmt::format("  sample      {}\n", to_string(shape));
  table += fmt::format("  mean        {}\n  deviation   {}\n", numbers(description["mean"]),
                       numbers(description["deviation"]));
  const json& classes = description["classes"];
  table += "  classes     " + format_count(std::ssize(classes));
  if (description.contains("coarse_classes"))
    table += fmt::format(" in {} coarse ones", description["coarse_classes"].size());
  table += hierarchy_rows(description);
  table += fmt::format("\n\n  {:<44}", "samples");
  const json& splits = description["splits"];
  for (const auto& [name, split] : kSplits)
    if (splits.contains(name)) table += fmt::format("{:>12}", name);
  const auto row = [&](const std::string& name, const auto& count) {
    table += fmt::format("\n  {:<44}", name);
    for (const auto& [split_name, unused] : kSplits)
      if (splits.contains(split_name))
        table += fmt::format("{:>12}", format_count(count(splits[split_name]).template get<std::int64_t>()));
  };
  row("all", [](const json& split) { return split["samples"]; });
  for (std::size_t i = 0; i < std::min(classes.size(), kMostClasses); ++i)
    row(classes[i].get<std::string>(), [i](const json& split) { return split["per_class"][i]; });
  const std::int64_t more = std::ssize(classes) - static_cast<std::int64_t>(kMostClasses);
  if (more > 0) table += "\n  ... and " + format_things(more, "more class", "more classes");
  return table + "\n";
}

}  // namespace mangrove::cli

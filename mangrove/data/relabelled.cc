#include "mangrove/data/relabelled.h"

#include <algorithm>
#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/data/wrapped.h"

namespace mangrove::data {
namespace {

class Relabelled final : public WrappedDataset {
 public:
  /// new_label: of each class of `inner`.
  Relabelled(std::shared_ptr<const Dataset> inner, std::vector<std::string> names, std::vector<std::int32_t> new_label)
      : WrappedDataset(std::move(inner)), names_(std::move(names)), new_label_(std::move(new_label)) {}

  const std::vector<std::string>& class_names() const override { return names_; }
  const CoarseLabels* coarse() const override { return nullptr; }
  std::int32_t label(std::uint32_t index) const override {
    return new_label_[static_cast<std::size_t>(inner().label(index))];
  }
  Status read(std::uint32_t index, std::span<float> out) const override { return inner().read(index, out); }

 private:
  const std::vector<std::string> names_;
  const std::vector<std::int32_t> new_label_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> some_classes(std::shared_ptr<const Dataset> dataset,
                                                    std::span<const std::string> classes, bool names_nearest) {
  const std::vector<std::string>& known = dataset->class_names();
  if (classes.empty()) return make_error(Code::invalid_argument, "option 'classes': names no class");
  std::vector<std::string> names(classes.begin(), classes.end());
  std::vector<std::int32_t> new_label(known.size(), static_cast<std::int32_t>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find(known, names[i]);
    if (found == known.end())
      return make_error(Code::invalid_argument, "option 'classes': the data has no class '" + names[i] + "'" +
                                                    (names_nearest ? suggestion(names[i], known) : ""));
    if (std::ranges::count(names, names[i]) > 1)
      return make_error(Code::invalid_argument, "option 'classes': '" + names[i] + "' is there twice");
    new_label[static_cast<std::size_t>(found - known.begin())] = static_cast<std::int32_t>(i);
  }
  if (names.size() < known.size()) names.emplace_back(kRestClass);
  return std::make_shared<Relabelled>(std::move(dataset), std::move(names), std::move(new_label));
}

Result<std::shared_ptr<const Dataset>> coarse_classes(std::shared_ptr<const Dataset> dataset) {
  const CoarseLabels* coarse = dataset->coarse();
  if (coarse == nullptr)
    return make_error(Code::invalid_argument, "option 'labels': the data has no classes above its own");
  std::vector<std::string> names = coarse->names;
  std::vector<std::int32_t> new_label = coarse->of_class;
  return std::make_shared<Relabelled>(std::move(dataset), std::move(names), std::move(new_label));
}

}  // namespace mangrove::data

#include "mangrove/cli/reports/run_results.h"

#include <nlohmann/json.hpp>

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// One section of the results, which may be missing.
class Section {
 public:
  Section(const json& results, const char* name, std::vector<std::string>& unreadable)
      : name_(name), unreadable_(unreadable) {
    if (results.is_object() && results.contains(name)) found_ = &results[name];
  }

  /// Reads what the section must hold; says in `unreadable` why that cannot be read.
  template <class T>
  void read(std::optional<T>& part) const {
    if (found_ == nullptr) return;
    auto value = job::read_json<T>(*found_);
    if (value.ok()) {
      part = *std::move(value);
    } else {
      unreadable_.push_back(name_ + ": " + value.error().message);
    }
  }
  /// Reads what the section may hold.
  template <class T>
  std::optional<T> find() const {
    if (found_ == nullptr) return std::nullopt;
    auto value = job::read_json<T>(*found_);
    return value.ok() ? std::optional(*std::move(value)) : std::nullopt;
  }
  void read(RunFacts& facts) const {
    std::optional<RunFacts> part;
    read(part);
    if (part) facts = *std::move(part);
  }

 private:
  const std::string name_;
  std::vector<std::string>& unreadable_;
  const json* found_ = nullptr;
};

}  // namespace

RunResults::RunResults(const json& results) {
  const Section train_section(results, "train", unreadable), eval_section(results, "eval", unreadable),
      infer_section(results, "infer", unreadable);
  train_section.read(train);
  train_section.read(train_facts);
  if (train_facts.head) {
    auto first = job::read_json<train::TrainResult>(*train_facts.head);
    if (first.ok()) head = *std::move(first);
  }
  eval_section.read(eval);
  eval_section.read(eval_facts);
  eval_exits = eval_section.find<ExitsReport>();
  std::optional<infer::InferResult> all;
  infer_section.read(all);
  infer_section.read(infer_facts);
  if (all)
    infer = {.all = *std::move(all),
             .single = infer_section.find<infer::SingleResult>(),
             .pipeline = infer_section.find<infer::PipelineResult>(),
             .ensemble = infer_section.find<infer::EnsembleResult>(),
             .tiers = infer_section.find<infer::TiersResult>(),
             .views = infer_section.find<infer::ViewsResult>(),
             .tiles = infer_section.find<infer::TilesResult>()};
}

}  // namespace mangrove::cli

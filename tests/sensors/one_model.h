#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/serve/protocol/models.h"

namespace mangrove::sensors {

/// One model that is always there and never changes.
class OneModel final : public serve::Models {
 public:
  explicit OneModel(std::shared_ptr<serve::Model> model) : model_(std::move(model)) {}

  Result<std::shared_ptr<serve::Model>> find(const std::string& name, const std::string& version) const override {
    const serve::ModelMetadata& own = model_->metadata();
    if (name == own.name && (version.empty() || version == own.version)) return model_;
    return make_error(Code::not_found, "no model '" + name + "'");
  }
  std::vector<serve::IndexEntry> index() const override {
    return {{model_->metadata().name, model_->metadata().version, "READY", ""}};
  }
  bool is_ready() const override { return true; }
  Status load(const std::string&, const std::string&) override { return stays(); }
  Status unload(const std::string&) override { return stays(); }
  Result<std::int64_t> update(const std::string&, const std::string&, const serve::UpdateOptions&) override {
    return stays().error();
  }
  Result<serve::ServiceStatus> status(const std::string&) const override { return stays().error(); }

 private:
  static Status stays() { return make_error(Code::failed_precondition, "the model stays"); }

  const std::shared_ptr<serve::Model> model_;
};

}  // namespace mangrove::sensors

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_repository.h"

namespace mangrove::serve {

/// The models behind the protocols. threads: any thread may call any method.
class Models {
 public:
  virtual ~Models() = default;
  /// version: "" for the newest that is ready. errors: not_found, unavailable (it is not loaded).
  virtual Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version) const = 0;
  virtual std::vector<IndexEntry> index() const = 0;
  virtual bool is_ready() const = 0;
  /// These may take long. errors: not_found, those of loading.
  virtual Status load(const std::string& name) = 0;
  virtual Status unload(const std::string& name) = 0;
};

/// Those of a repository, which must outlive this.
class RepositoryModels final : public Models {
 public:
  explicit RepositoryModels(ModelRepository& repository) : repository_(repository) {}
  Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version) const override {
    return repository_.find(name, version);
  }
  std::vector<IndexEntry> index() const override { return repository_.index(); }
  bool is_ready() const override { return repository_.is_ready(); }
  Status load(const std::string& name) override { return repository_.load(name); }
  Status unload(const std::string& name) override { return repository_.unload(name); }

 private:
  ModelRepository& repository_;
};

/// A model that a server has from its start to its end. It must outlive this.
class OneModel final : public Models {
 public:
  OneModel(std::shared_ptr<Model> model, std::function<bool()> is_ready)
      : model_(std::move(model)), is_ready_(std::move(is_ready)) {}
  Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version) const override;
  std::vector<IndexEntry> index() const override;
  bool is_ready() const override { return is_ready_(); }
  /// errors: failed_precondition, always.
  Status load(const std::string& name) override;
  Status unload(const std::string& name) override;

 private:
  const std::shared_ptr<Model> model_;
  const std::function<bool()> is_ready_;
};

/// The versions of a model that are ready, in the order of the index.
std::vector<std::string> ready_versions(const Models& models, const std::string& name);

/// The models of which statistics are asked: one version, all versions that are ready, or with "" all models.
/// errors: those of find().
Result<std::vector<std::shared_ptr<Model>>> models_named(const Models& models, const std::string& name,
                                                         const std::string& version);

}  // namespace mangrove::serve

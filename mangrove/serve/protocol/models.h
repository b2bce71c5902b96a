#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_repository.h"
#include "mangrove/serve/update/model_update.h"

namespace mangrove::serve {

/// The models behind the protocols. threads: any thread may call any method.
class Models {
 public:
  virtual ~Models() = default;
  /// version: "" for the newest that is ready. errors: not_found, unavailable (it is not loaded).
  virtual Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version) const = 0;
  virtual std::vector<IndexEntry> index() const = 0;
  virtual bool is_ready() const = 0;
  /// These may take long. owner: see ModelRepository::load(). errors: not_found, those of loading.
  virtual Status load(const std::string& name, const std::string& owner) = 0;
  virtual Status unload(const std::string& name) = 0;
  /// See ModelRepository::update().
  virtual Result<std::int64_t> update(const std::string& name, const std::string& network,
                                      const UpdateOptions& options) = 0;
  /// errors: not_found.
  virtual Result<ServiceStatus> status(const std::string& name) const = 0;
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
  Status load(const std::string& name, const std::string& owner) override { return repository_.load(name, owner); }
  Status unload(const std::string& name) override { return repository_.unload(name); }
  Result<std::int64_t> update(const std::string& name, const std::string& network,
                              const UpdateOptions& options) override {
    return repository_.update(name, network, options);
  }
  Result<ServiceStatus> status(const std::string& name) const override { return repository_.status(name); }

 private:
  ModelRepository& repository_;
};

/// The versions of a model that are ready, in the order of the index.
std::vector<std::string> ready_versions(const Models& models, const std::string& name);

/// The models of which statistics are asked: one version, all versions that are ready, or with "" all models.
/// errors: those of find().
Result<std::vector<std::shared_ptr<Model>>> models_named(const Models& models, const std::string& name,
                                                         const std::string& version);

}  // namespace mangrove::serve

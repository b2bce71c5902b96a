#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_options.h"

namespace mangrove::serve {

/// A model as the index of the repository shows it.
struct IndexEntry {
  std::string name;
  std::string version;
  std::string state;   // "READY", "LOADING", "UNLOADING", "UNAVAILABLE"
  std::string reason;  // why it is not ready; "": it is, or was unloaded
};

/// The models of a server, by name and version. Versions of a model that is replaced go on with the requests that they
/// have.
/// threads: any thread may call any method.
class ModelRepository {
 public:
  /// errors: not_found, and those of EngineModel::load().
  Status load(const std::string& name);
  /// Its requests are answered before this returns. errors: not_found.
  Status unload(const std::string& name);
  /// version: "" for the newest that is ready. errors: not_found (names the model or the version, and which there
  /// are), unavailable (it is not loaded).
  Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version = "") const;
  std::vector<IndexEntry> index() const;
  /// Whether all models that are to be served are ready.
  bool is_ready() const;
};

}  // namespace mangrove::serve

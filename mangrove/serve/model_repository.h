#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/serve/engine_model.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_leases.h"
#include "mangrove/serve/model_options.h"
#include "mangrove/serve/model_source.h"

namespace mangrove::serve {

/// A model as the index of the repository shows it.
struct IndexEntry {
  std::string name;
  std::string version;  // "": it was never loaded
  std::string state;    // "READY", "LOADING", "UNLOADING", "UNAVAILABLE"
  std::string reason;   // why it is not ready; "": it is, or was unloaded
};

/// Reads the network of options.file, with its open dimensions as options.input_shape says.
/// threads: any thread may call it.
using GraphLoader = std::function<Result<Graph>(const ModelOptions& options)>;

/// The models of a server, by name and version. Versions of a model that is replaced go on with the requests that they
/// have. A file's first version is 1, and each change of it that load() finds makes the next; a folder has its own.
/// threads: any thread may call any method. Loading holds up no other method.
class ModelRepository {
 public:
  explicit ModelRepository(GraphLoader read) : read_(std::move(read)) {}
  /// Unloads all.
  ~ModelRepository();

  /// A model that options.file has. It is not loaded yet. errors: invalid_argument (see check_model_name),
  /// already_exists.
  Status add(const std::string& name, const ModelOptions& options);
  /// All models of a folder (see models_in), which are not loaded yet; load() also finds those that come later.
  /// options: of each of them. errors: those of models_in; already_exists.
  Status add_folder(const fs::path& repository, const ModelOptions& options);
  /// Of all models, sorted.
  std::vector<std::string> names() const;

  /// Loads the newest version, and unloads older ones when it is ready. Nothing happens if it is ready already and its
  /// file has not changed. After an error the version before goes on.
  /// errors: not_found; unavailable (it is being loaded or unloaded: try again); those of the loader and of
  /// EngineModel::load().
  Status load(const std::string& name);
  /// Its requests are answered before this returns, also of those who have found it and not asked yet: so who calls
  /// this must not hold the model. Whoever holds it for longer than half a minute gets `unavailable` from it.
  /// errors: not_found; unavailable (it is being loaded or unloaded: try again).
  Status unload(const std::string& name);
  /// To be held for one request, not longer: unload() waits for it. version: "" for the newest that is ready.
  /// errors: not_found (names the model or the version, and which there are), unavailable (it is not loaded).
  Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version = "") const;
  std::vector<IndexEntry> index() const;
  /// Whether all models that are to be served are ready: all that were added, but those that were unloaded.
  bool is_ready() const;

 private:
  enum class State { loading, ready, unloading, unavailable };
  struct Version {
    std::int64_t number = 0;
    State state = State::loading;
    std::string reason = {};
    std::shared_ptr<EngineModel> model = {};
    std::shared_ptr<ModelLeases> leases = {};
  };
  struct Entry {
    ModelSource source;
    std::vector<Version> versions = {};
    std::int64_t last_number = 0;  // of the last that was loaded
    FileState last_file = {};      // its file
    bool is_wanted = true;
    bool is_changing = false;  // one load() or unload() at a time
  };
  static const char* state_name(State state);
  static const Version* ready_version(const Entry& entry, const std::string& version);
  static void retire(const std::vector<Version>& versions);

  Status insert(const std::string& name, ModelSource source);
  void look_for(const std::string& name);
  Result<ModelSource> begin_change(const std::string& name, bool is_wanted);
  void end_change(const std::string& name);
  Status load_newest(const std::string& name, const ModelSource& source);
  Result<std::shared_ptr<EngineModel>> make_model(const std::string& name, std::int64_t number,
                                                  const ModelOptions& options) const;
  std::optional<std::int64_t> begin_loading(const std::string& name, const FoundModel& found);
  std::vector<Version> replace(const std::string& name, std::shared_ptr<EngineModel> model, const FileState& file);
  void fail(const std::string& name, const Error& error);
  std::vector<Version> begin_unloading(Entry& entry) MG_REQUIRES(mutex_);

  const GraphLoader read_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> models_ MG_GUARDED_BY(mutex_);
  std::vector<ModelSource> folders_ MG_GUARDED_BY(mutex_);  // of repositories; options of their models
};

}  // namespace mangrove::serve

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/identity/wall_time.h"
#include "mangrove/serve/loaded_model.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_leases.h"
#include "mangrove/serve/model_options.h"
#include "mangrove/serve/model_source.h"
#include "mangrove/serve/update/model_update.h"
#include "mangrove/serve/update/version_trial.h"

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

/// Versions that this process computes: EngineModel::load().
Result<std::shared_ptr<LoadedModel>> make_engine_model(const Graph& graph, const std::string& name,
                                                       const std::string& version, const ModelOptions& options);

/// The models of a server, by name and version. Versions of a model that is replaced go on with the requests that they
/// have. A file's first version is 1, and each change of it that load() finds makes the next; a folder has its own.
/// threads: any thread may call any method. Loading holds up no other method.
class ModelRepository {
 public:
  /// ready_within: how long a version may take to become ready while another runs; then it is given up.
  explicit ModelRepository(GraphLoader read, ModelMaker make = &make_engine_model, Seconds ready_within = 60)
      : read_(std::move(read)), make_(std::move(make)), ready_within_(ready_within) {}
  /// Ends updates, whose old versions stay, and unloads all.
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
  /// file has not changed. After an error the version before goes on. The first version is not waited for: it may
  /// become ready later.
  /// owner: who wants it, as AccessRules::who() says; "": whoever started the server.
  /// errors: not_found; unavailable (it is being loaded or unloaded: try again; or it does not become ready in time
  /// beside the one before: says why); those of the loader and of the maker.
  Status load(const std::string& name, const std::string& owner = "");
  /// Its requests are answered before this returns, also of those who have found it and not asked yet: so who calls
  /// this must not hold the model. Whoever holds it for longer than half a minute gets `unavailable` from it.
  /// errors: not_found; unavailable (it is being loaded or unloaded: try again).
  Status unload(const std::string& name);
  /// To be held for one request, not longer: unload() waits for it. version: "" for the newest that is ready.
  /// errors: not_found (names the model or the version, and which there are), unavailable (it is not loaded).
  Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version = "") const;
  std::vector<IndexEntry> index() const;
  /// Loads this network, the content of a model file, beside the version that runs, and changes to it as the options
  /// say, without losing a request. Returns the number of the new version when the network has been read and compared;
  /// the rest goes on by itself, and status() tells how far it is. Where the model has a folder, the network is written
  /// there as its new version when it takes over; else it is gone with the server.
  /// errors: not_found; unavailable (the model is being changed: try again); failed_precondition (no version is loaded;
  /// other inputs or outputs than those of the version that runs: names them); those of the loader.
  Result<std::int64_t> update(const std::string& name, const std::string& network, const UpdateOptions& options);
  /// errors: not_found.
  Result<ServiceStatus> status(const std::string& name) const;
  /// Whether all models that are to be served are ready: all that were added, but those that were unloaded.
  bool is_ready() const;

 private:
  enum class State { loading, ready, unloading, unavailable };
  struct Version {
    std::int64_t number = 0;
    State state = State::loading;
    std::string reason = {};
    std::shared_ptr<LoadedModel> model = {};
    std::shared_ptr<ModelLeases> leases = {};
    std::string owner = {};  // who began to load it, and when
    identity::WallTime began = {};
  };
  struct Entry {
    ModelSource source;
    std::vector<Version> versions = {};
    std::int64_t last_number = 0;  // of the last that was loaded
    FileState last_file = {};      // its file
    bool is_wanted = true;
    bool is_changing = false;                  // one load(), unload() or update() at a time
    std::string changed_by = {};               // who began the last of these
    std::optional<UpdateStatus> update = {};   // the last one
    std::int64_t last_update = 0;              // its version
    std::shared_ptr<VersionTrial> trial = {};  // of an update that compares its version with the one before
    double share = 0;                          // of its new version
    std::jthread updater = {};                 // of the last update
  };
  static const char* state_name(State state);
  static IndexEntry index_entry(const std::string& name, const Version& version);
  static const Version* ready_version(const Entry& entry, const std::string& version);
  static void retire(const std::vector<Version>& versions);

  Error unknown(const std::string& name) const MG_REQUIRES(mutex_);
  Status insert(const std::string& name, ModelSource source);
  void look_for(const std::string& name);
  Result<ModelSource> begin_change(const std::string& name, const std::string& owner,
                                   std::optional<bool> is_wanted = {});
  static Version begun_version(const Entry& entry, std::int64_t number);
  void end_change(const std::string& name);
  Status load_newest(const std::string& name, const ModelSource& source);
  Result<std::shared_ptr<LoadedModel>> make_model(const std::string& name, std::int64_t number,
                                                  const ModelOptions& options) const;
  std::optional<std::int64_t> begin_loading(const std::string& name, const FoundModel& found);
  Status wait_until_ready(const LoadedModel& model) const;
  bool has_ready_version(const std::string& name) const;
  std::vector<Version> replace(const std::string& name, std::shared_ptr<LoadedModel> model,
                               const std::optional<FileState>& file);
  void fail(const std::string& name, const Error& error);

  /// A network that is to be the next version.
  struct Candidate {
    std::string name;
    std::int64_t number = 0;
    Graph graph;
    std::string network;  // the content of its file; "": it need not be kept
    ModelOptions options;
    fs::path folder;  // of the model; "": none
    UpdateOptions update;
  };
  Result<std::int64_t> begin_update(const std::string& name, const std::string& network, const ModelSource& source,
                                    const UpdateOptions& options);
  Result<std::int64_t> reserve_version(const std::string& name, const Graph& graph, const UpdateOptions& options,
                                       std::int64_t newest_on_disk);
  void run_update(const Candidate& candidate);
  TrialVerdict try_candidate(const Candidate& candidate, const std::shared_ptr<LoadedModel>& model);
  Status change_to(const Candidate& candidate, const std::shared_ptr<LoadedModel>& model);
  std::shared_ptr<VersionTrial> begin_trial(const Candidate& candidate, const std::shared_ptr<LoadedModel>& model);
  void end_trial(const std::string& name, const VersionTrial& trial);
  void end_update(const std::string& name, const std::string& state, const std::string& reason);
  void join_updater(const std::string& name);
  std::vector<VersionStatus> version_statuses(const Entry& entry) const MG_REQUIRES(mutex_);
  std::vector<Version> begin_unloading(Entry& entry) MG_REQUIRES(mutex_);

  const GraphLoader read_;
  const ModelMaker make_;
  const Seconds ready_within_;
  std::stop_source ending_;  // updates end
  mutable Mutex mutex_;
  std::map<std::string, Entry> models_ MG_GUARDED_BY(mutex_);
  std::vector<ModelSource> folders_ MG_GUARDED_BY(mutex_);  // of repositories; options of their models
};

}  // namespace mangrove::serve

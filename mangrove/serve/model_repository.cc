#include "mangrove/serve/model_repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/identity/wall_time.h"
#include "mangrove/serve/engine_model.h"

namespace mangrove::serve {
namespace {

/// How long a version that is unloaded waits for those who have found it.
constexpr Seconds kLongestLease = 30;
constexpr Seconds kLookWhetherReady = 0.05;

}  // namespace

const char* ModelRepository::state_name(State state) {
  switch (state) {
    case State::loading:
      return "LOADING";
    case State::ready:
      return "READY";
    case State::unloading:
      return "UNLOADING";
    case State::unavailable:
      break;
  }
  return "UNAVAILABLE";
}

Result<std::shared_ptr<LoadedModel>> make_engine_model(const Graph& graph, const std::string& name,
                                                       const std::string& version, const ModelOptions& options) {
  MG_TRY(std::shared_ptr<EngineModel> model, EngineModel::load(graph, name, version, options));
  return std::shared_ptr<LoadedModel>(std::move(model));
}

/// The error of a name that the repository does not have.
Error ModelRepository::unknown(const std::string& name) const {
  std::vector<std::string> known;
  known.reserve(models_.size());
  for (const auto& [model, entry] : models_) known.push_back(model);
  const std::string shown = printable(cut_short(name, 128));
  return make_error(Code::not_found, fmt::format("unknown model '{}'{}", shown, suggestion(shown, known)));
}

IndexEntry ModelRepository::index_entry(const std::string& name, const Version& version) {
  if (version.state != State::ready || version.model->is_ready())
    return {name, std::to_string(version.number), state_name(version.state), version.reason};
  return {name, std::to_string(version.number), state_name(State::loading), version.model->problem()};
}

ModelRepository::~ModelRepository() {
  ending_.request_stop();
  for (const std::string& name : names()) join_updater(name);
  for (const std::string& name : names()) {
    const Status unloaded = unload(name);
    if (!unloaded.ok()) log_warn("model not unloaded", {{"model", name}, {"why", unloaded.error().message}});
  }
}

Status ModelRepository::insert(const std::string& name, ModelSource source) {
  MG_RETURN_IF_ERROR(check_model_name(name));
  const MutexLock lock(mutex_);
  if (models_.try_emplace(name, Entry{.source = std::move(source)}).second) return {};
  return make_error(Code::already_exists, "there is a model '" + name + "' already");
}

Status ModelRepository::add(const std::string& name, const ModelOptions& options) {
  return insert(name, {.options = options});
}

Status ModelRepository::add_folder(const fs::path& repository, const ModelOptions& options) {
  MG_TRY(const std::vector<std::string> found, models_in(repository));
  for (const std::string& name : found)
    MG_RETURN_IF_ERROR(insert(name, {.options = options, .folder = repository / name}));
  const MutexLock lock(mutex_);
  folders_.push_back({.options = options, .folder = repository});
  return {};
}

std::vector<std::string> ModelRepository::names() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [name, entry] : models_) all.push_back(name);
  return all;
}

/// Adds a model whose folder has come since the repository was added, if there is one.
void ModelRepository::look_for(const std::string& name) {
  std::vector<ModelSource> folders;
  {
    const MutexLock lock(mutex_);
    if (models_.contains(name) || !check_model_name(name).ok()) return;
    folders = folders_;
  }
  for (const ModelSource& repository : folders) {
    ModelSource source{.options = repository.options, .folder = repository.folder / name};
    if (find_newest(source).ok() && insert(name, std::move(source)).ok()) return;
  }
}

/// is_wanted: whether the model is to be served from now on; nothing: that stays as it is.
/// owner: who changes it.
Result<ModelSource> ModelRepository::begin_change(const std::string& name, const std::string& owner,
                                                  std::optional<bool> is_wanted) {
  const MutexLock lock(mutex_);
  const auto entry = models_.find(name);
  if (entry == models_.end()) return unknown(name);
  if (entry->second.is_changing)
    return make_error(Code::unavailable, "model '" + name + "' is being loaded or unloaded; try again later");
  entry->second.is_changing = true;
  entry->second.changed_by = owner;
  if (is_wanted) entry->second.is_wanted = *is_wanted;
  return entry->second.source;
}

/// What was replaced or unloaded is forgotten.
void ModelRepository::end_change(const std::string& name) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  std::erase_if(entry.versions, [](const Version& version) { return version.state == State::unloading; });
  entry.is_changing = false;
}

Status ModelRepository::load(const std::string& name, const std::string& owner) {
  look_for(name);
  MG_TRY(const ModelSource source, begin_change(name, owner, true));
  Status loaded = load_newest(name, source);
  if (!loaded.ok()) fail(name, loaded.error());
  end_change(name);
  return loaded;
}

Status ModelRepository::load_newest(const std::string& name, const ModelSource& source) {
  const std::string where = "model '" + name + "'";
  MG_TRY(const FoundModel found, find_newest(source).context(where));
  const std::optional<std::int64_t> number = begin_loading(name, found);
  if (!number) return {};
  MG_TRY(auto model, make_model(name, *number, found.options).context(where));
  if (has_ready_version(name)) {
    Status ready = wait_until_ready(*model).context(where);
    if (!ready.ok()) {
      model->close();
      return ready;
    }
  }
  retire(replace(name, std::move(model), found.state));
  return {};
}

bool ModelRepository::has_ready_version(const std::string& name) const {
  const MutexLock lock(mutex_);
  return ready_version(models_.at(name), "") != nullptr;
}

/// errors: unavailable (it is not ready in time: says why; the server ends).
Status ModelRepository::wait_until_ready(const LoadedModel& model) const {
  const SteadyClock clock;
  const Deadline deadline = clock.after(ready_within_);
  while (!model.is_ready()) {
    if (wait_for_stop(ending_.get_token(), kLookWhetherReady))
      return make_error(Code::unavailable, "the server is being stopped");
    if (clock.now() >= deadline)
      return make_error(Code::unavailable, fmt::format("version {} was not ready after {} beside the one before: {}",
                                                       model.metadata().version, format_seconds(ready_within_),
                                                       printable(cut_short(model.problem()))));
  }
  return {};
}

/// Its copy of the network is gone afterwards.
Result<std::shared_ptr<LoadedModel>> ModelRepository::make_model(const std::string& name, std::int64_t number,
                                                                 const ModelOptions& options) const {
  MG_TRY(const Graph graph, read_(options));
  return make_(graph, name, std::to_string(number), options);
}

/// A version that whoever changes the model begins to load now.
ModelRepository::Version ModelRepository::begun_version(const Entry& entry, std::int64_t number) {
  return {.number = number, .owner = entry.changed_by, .began = identity::wall_now()};
}

/// The number of the version that is going to be loaded. Nothing: it is ready.
std::optional<std::int64_t> ModelRepository::begin_loading(const std::string& name, const FoundModel& found) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  std::erase_if(entry.versions, [](const Version& version) { return version.state == State::unavailable; });
  const bool is_same = entry.last_number > 0 && entry.last_file == found.state;
  const std::int64_t number = found.version.value_or(entry.last_number + (is_same ? 0 : 1));
  if (is_same && number == entry.last_number && ready_version(entry, "") != nullptr) return std::nullopt;
  entry.versions.push_back(begun_version(entry, number));
  return number;
}

/// The version that was loading gets the requests from now on. Returns those that had them.
std::vector<ModelRepository::Version> ModelRepository::replace(const std::string& name,
                                                               std::shared_ptr<LoadedModel> model,
                                                               const std::optional<FileState>& file) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  std::vector<Version> replaced = begin_unloading(entry);
  Version& version = entry.versions.back();
  version.state = State::ready;
  version.reason.clear();
  version.model = std::move(model);
  version.leases = std::make_shared<ModelLeases>();
  entry.last_number = version.number;
  if (file) entry.last_file = *file;
  return replaced;
}

void ModelRepository::fail(const std::string& name, const Error& error) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  if (entry.versions.empty() || entry.versions.back().state != State::loading)
    entry.versions.push_back(begun_version(entry, entry.last_number + 1));
  entry.versions.back().state = State::unavailable;
  entry.versions.back().reason = error.message;
}

/// Nobody finds the versions that are ready any more. Returns them.
std::vector<ModelRepository::Version> ModelRepository::begin_unloading(Entry& entry) {
  std::vector<Version> ready;
  for (Version& version : entry.versions) {
    if (version.state != State::ready) continue;
    version.state = State::unloading;
    ready.push_back(version);
  }
  return ready;
}

/// Waits for those who have found a version, and then for the answers to its requests. So its last reference is never
/// dropped by a thread of its own.
void ModelRepository::retire(const std::vector<Version>& versions) {
  for (const Version& version : versions) {
    if (!version.leases->wait_for_none(kLongestLease))
      log_warn("model closed while somebody holds it", {{"model", version.model->metadata().name}});
    version.model->close();
  }
}

Status ModelRepository::unload(const std::string& name) {
  MG_RETURN_IF_ERROR(begin_change(name, "", false));
  std::vector<Version> versions;
  {
    const MutexLock lock(mutex_);
    versions = begin_unloading(models_.at(name));
  }
  retire(versions);
  end_change(name);
  return {};
}

/// version: "" for the newest. Null where there is none.
const ModelRepository::Version* ModelRepository::ready_version(const Entry& entry, const std::string& version) {
  const Version* newest = nullptr;
  for (const Version& one : entry.versions) {
    if (one.state != State::ready || (!version.empty() && std::to_string(one.number) != version)) continue;
    if (newest == nullptr || one.number > newest->number) newest = &one;
  }
  return newest;
}

Result<std::shared_ptr<Model>> ModelRepository::find(const std::string& name, const std::string& version) const {
  const MutexLock lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end()) return unknown(name);
  const Entry& entry = found->second;
  if (version.empty() && entry.trial != nullptr) return entry.trial->choose();
  if (const Version* ready = ready_version(entry, version)) return ready->leases->lease(ready->model);
  const auto is_named = [&](const Version& one) { return version.empty() || std::to_string(one.number) == version; };
  const Version* newest = ready_version(entry, "");
  if (newest != nullptr && std::ranges::none_of(entry.versions, is_named))
    return make_error(Code::not_found, fmt::format("model '{}' has no version '{}'; version {} is ready", name,
                                                   printable(cut_short(version, 128)), newest->number));
  const auto named = std::ranges::find_if(entry.versions.rbegin(), entry.versions.rend(), is_named);
  if (named == entry.versions.rend()) return make_error(Code::unavailable, "model '" + name + "' is not loaded");
  if (named->state == State::unavailable)
    return make_error(Code::unavailable, fmt::format("model '{}' could not be loaded: {}", name, named->reason));
  return make_error(Code::unavailable,
                    fmt::format("model '{}' version {} is being {}", name, named->number,
                                named->state == State::loading ? "loaded; try again later" : "unloaded"));
}

std::vector<IndexEntry> ModelRepository::index() const {
  const MutexLock lock(mutex_);
  std::vector<IndexEntry> entries;
  for (const auto& [name, entry] : models_) {
    for (const Version& version : entry.versions) entries.push_back(index_entry(name, version));
    if (entry.versions.empty())
      entries.push_back(
          {name, entry.last_number > 0 ? std::to_string(entry.last_number) : "", state_name(State::unavailable), ""});
  }
  return entries;
}

bool ModelRepository::is_ready() const {
  const MutexLock lock(mutex_);
  return std::ranges::all_of(models_, [](const auto& model) {
    const Version* const ready = ready_version(model.second, "");
    return !model.second.is_wanted || (ready != nullptr && ready->model->is_ready());
  });
}

}  // namespace mangrove::serve

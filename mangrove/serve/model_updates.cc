// ModelRepository's updates: a new version of a model beside the one that runs.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include "mangrove/base/iso_time.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/serve/http/connection.h"
#include "mangrove/serve/model_metadata.h"
#include "mangrove/serve/model_repository.h"
#include "mangrove/serve/protocol/datatype.h"

namespace mangrove::serve {
namespace {

constexpr Seconds kLongestTrialLease = 30;  // as of a version that is unloaded

/// A file without a name, in memory: loaders read files.
class MemoryFile {
 public:
  /// errors: resource_exhausted.
  static Result<MemoryFile> of(std::string_view content) {
    MemoryFile file(Descriptor(::memfd_create("model", MFD_CLOEXEC)));
    for (std::size_t at = 0; at < content.size();) {
      const ssize_t done = ::write(file.descriptor_.number(), content.data() + at, content.size() - at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        return make_error(Code::resource_exhausted,
                          "no memory for the network: " + std::generic_category().message(errno));
      at += static_cast<std::size_t>(done);
    }
    return file;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_.number()); }

 private:
  explicit MemoryFile(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

std::string interface_text(const std::vector<TensorMetadata>& tensors) {
  std::string text;
  for (const TensorMetadata& tensor : tensors)
    text += fmt::format("{}'{}' {} {}", text.empty() ? "" : ", ", printable(cut_short(tensor.name, 128)),
                        datatype_name(tensor.dtype), to_string(Shape(tensor.shape)));
  return text;
}

/// Clients go on asking as before, so the new version must take and give the same. errors: failed_precondition.
Status check_interface(const ModelMetadata& old, const ModelMetadata& fresh) {
  const auto is_same = [](const std::vector<TensorMetadata>& a, const std::vector<TensorMetadata>& b) {
    return std::ranges::equal(a, b, [](const TensorMetadata& one, const TensorMetadata& other) {
      return one.name == other.name && one.dtype == other.dtype && one.shape == other.shape;
    });
  };
  for (const auto& [what, before, now] :
       {std::tuple{"inputs", &old.inputs, &fresh.inputs}, std::tuple{"outputs", &old.outputs, &fresh.outputs}})
    if (!is_same(*before, *now))
      return make_error(Code::failed_precondition,
                        fmt::format("the network's {} are {}; version {} has {}", what, interface_text(*now),
                                    old.version, interface_text(*before)));
  return {};
}

}  // namespace

Result<std::int64_t> ModelRepository::update(const std::string& name, const std::string& network,
                                             const UpdateOptions& options) {
  MG_TRY(const ModelSource source, begin_change(name, options.owner));
  join_updater(name);
  Result<std::int64_t> begun = begin_update(name, network, source, options).context("model '" + name + "'");
  if (!begun.ok()) end_change(name);
  return begun;
}

/// Reads and compares the network, and starts the thread that does the rest.
Result<std::int64_t> ModelRepository::begin_update(const std::string& name, const std::string& network,
                                                   const ModelSource& source, const UpdateOptions& options) {
  MG_TRY(const MemoryFile file, MemoryFile::of(network));
  ModelOptions reading = source.options;
  reading.file = file.path();
  Result<Graph> graph = read_(reading);
  if (!graph.ok())
    return make_error(graph.code(), "the network that was sent cannot be read: " + graph.error().message);
  std::int64_t newest_on_disk = 0;
  if (!source.folder.empty()) {
    MG_TRY(const FoundModel found, find_newest(source));
    newest_on_disk = found.version.value_or(0);
  }
  MG_TRY(const std::int64_t number, reserve_version(name, *graph, options, newest_on_disk));
  auto candidate = std::make_shared<const Candidate>(Candidate{.name = name,
                                                               .number = number,
                                                               .graph = std::move(*graph),
                                                               .network = source.folder.empty() ? "" : network,
                                                               .options = source.options,
                                                               .folder = source.folder,
                                                               .update = options});
  const MutexLock lock(mutex_);
  models_.at(name).updater = std::jthread([this, candidate] { run_update(*candidate); });
  return number;
}

/// The number of the version that is going to be loaded. errors: failed_precondition.
Result<std::int64_t> ModelRepository::reserve_version(const std::string& name, const Graph& graph,
                                                      const UpdateOptions& options, std::int64_t newest_on_disk) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  const Version* const ready = ready_version(entry, "");
  if (ready == nullptr)
    return make_error(Code::failed_precondition, "no version of it is loaded that an update could replace");
  // the number of an update that was refused is not used again: who follows one must not take another for it
  const std::int64_t number = std::max({entry.last_number, entry.last_update, newest_on_disk}) + 1;
  MG_RETURN_IF_ERROR(
      check_interface(ready->model->metadata(), metadata_of(graph, name, std::to_string(number), {}, 1)));
  const double share = options.trial ? options.trial->share : 0;
  entry.last_update = number;
  entry.update = UpdateStatus{.state = UpdateStatus::kLoading,
                              .version = std::to_string(number),
                              .before = std::to_string(ready->number),
                              .reason = {},
                              .share = share};
  std::erase_if(entry.versions, [](const Version& version) { return version.state == State::unavailable; });
  entry.versions.push_back(begun_version(entry, number));
  return number;
}

void ModelRepository::run_update(const Candidate& candidate) {
  auto model = make_(candidate.graph, candidate.name, std::to_string(candidate.number), candidate.options);
  Status ready = model.ok() ? wait_until_ready(**model) : Status(model.error());
  if (!ready.ok()) {
    if (model.ok()) (*model)->close();
    return end_update(candidate.name, UpdateStatus::kRefused, ready.error().message);
  }
  const TrialVerdict verdict = try_candidate(candidate, *model);
  const Status changed = verdict.takes_over ? change_to(candidate, *model) : Status();
  if (verdict.takes_over && changed.ok()) return end_update(candidate.name, UpdateStatus::kSwitched, verdict.reason);
  (*model)->close();
  end_update(candidate.name, UpdateStatus::kWentBack, changed.ok() ? verdict.reason : changed.error().message);
}

/// Lets the new version show what it can do, where that is wanted.
TrialVerdict ModelRepository::try_candidate(const Candidate& candidate, const std::shared_ptr<LoadedModel>& model) {
  if (!candidate.update.trial) return TrialVerdict{.takes_over = true, .reason = "no trial was asked for"};
  const std::shared_ptr<VersionTrial> trial = begin_trial(candidate, model);
  TrialVerdict verdict = trial->wait(ending_.get_token());
  end_trial(candidate.name, *trial);
  // who has found one of the versions still asks it: neither may be closed before
  if (!trial->wait_for_none(kLongestTrialLease))
    log_warn("trial ended while somebody holds a version", {{"model", candidate.name}});
  return verdict;
}

std::shared_ptr<VersionTrial> ModelRepository::begin_trial(const Candidate& candidate,
                                                           const std::shared_ptr<LoadedModel>& model) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(candidate.name);
  entry.trial = std::make_shared<VersionTrial>(ready_version(entry, "")->model, model, *candidate.update.trial);
  entry.update->state = UpdateStatus::kTrial;
  Version& version = entry.versions.back();
  version.model = model;
  version.reason = fmt::format("it gets a share of {:.3g} of the requests, and is compared with version {}",
                               candidate.update.trial->share, entry.update->before);
  return entry.trial;
}

/// Nobody finds the trial any more.
void ModelRepository::end_trial(const std::string& name, const VersionTrial& trial) {
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  const VersionTrial::Counts counts = trial.counts();
  entry.update->old = counts.old;
  entry.update->fresh = counts.fresh;
  entry.trial.reset();
}

/// The new version gets all requests, and the old one answers those that it has. errors: those of writing the network.
Status ModelRepository::change_to(const Candidate& candidate, const std::shared_ptr<LoadedModel>& model) {
  std::optional<FileState> state;
  if (!candidate.folder.empty()) {
    MG_RETURN_IF_ERROR(keep_version(candidate.folder, candidate.number, candidate.network));
    MG_TRY(const FoundModel found, find_newest({.options = candidate.options, .folder = candidate.folder}));
    state = found.state;
  }
  retire(replace(candidate.name, model, state));
  return {};
}

/// The update is decided, and another change may begin at the same moment. A version that was to come is forgotten.
void ModelRepository::end_update(const std::string& name, const std::string& state, const std::string& reason) {
  log_info("model updated", {{"model", name}, {"state", state}, {"why", reason}});
  const MutexLock lock(mutex_);
  Entry& entry = models_.at(name);
  entry.update->state = state;
  entry.update->reason = reason;
  std::erase_if(entry.versions, [](const Version& version) { return version.state != State::ready; });
  entry.is_changing = false;
}

/// Waits for the end of the thread of the last update.
void ModelRepository::join_updater(const std::string& name) {
  std::jthread updater;
  const MutexLock lock(mutex_);
  updater.swap(models_.at(name).updater);
}

std::vector<VersionStatus> ModelRepository::version_statuses(const Entry& entry) const {
  std::vector<VersionStatus> statuses;
  const double trial_share = entry.trial != nullptr ? entry.update->share : 0;
  for (const Version& version : entry.versions) {
    const IndexEntry shown = index_entry("", version);
    VersionStatus status{.version = shown.version,
                         .state = shown.state,
                         .reason = shown.reason,
                         .began = to_iso_text(version.began),
                         .owner = version.owner};
    if (version.state == State::ready) status.share = 1 - trial_share;
    if (version.state == State::loading) status.share = trial_share;
    if (version.model != nullptr) {
      const ModelStatistics statistics = version.model->statistics();
      status.answered = statistics.success.count;
      status.failed = statistics.fail.count;
      status.waiting = statistics.waiting;
      status.p50 = statistics.p50;
      status.p99 = statistics.p99;
    }
    statuses.push_back(std::move(status));
  }
  return statuses;
}

Result<ServiceStatus> ModelRepository::status(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end()) return unknown(name);
  const Entry& entry = found->second;
  ServiceStatus status{.name = name, .versions = version_statuses(entry), .update = entry.update};
  if (entry.trial != nullptr) {
    const VersionTrial::Counts counts = entry.trial->counts();
    status.update->old = counts.old;
    status.update->fresh = counts.fresh;
  }
  return status;
}

}  // namespace mangrove::serve

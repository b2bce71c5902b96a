#include "mangrove/serve/protocol/models.h"

#include "mangrove/base/printable.h"

namespace mangrove::serve {
namespace {

constexpr const char* kReady = "READY";
constexpr std::size_t kLongestShown = 128;

/// errors: failed_precondition, always.
Status cannot_change(const std::string& name) {
  return make_error(Code::failed_precondition,
                    "model '" + name + "' stays as long as its server: end the server to unload it");
}

}  // namespace

Result<std::shared_ptr<Model>> OneModel::find(const std::string& name, const std::string& version) const {
  const ModelMetadata& own = model_->metadata();
  if (name == own.name && (version.empty() || version == own.version)) return model_;
  return make_error(Code::not_found, "unknown model '" + printable(cut_short(name, kLongestShown)) + "' or version '" +
                                         printable(cut_short(version, kLongestShown)) + "'; this server has '" +
                                         own.name + "' version " + own.version);
}

std::vector<IndexEntry> OneModel::index() const {
  const ModelMetadata& own = model_->metadata();
  return {{own.name, own.version, is_ready_() ? kReady : "LOADING", is_ready_() ? "" : "waiting for the cluster"}};
}

Status OneModel::load(const std::string&) {
  return cannot_change(model_->metadata().name);
}

Status OneModel::unload(const std::string&) {
  return cannot_change(model_->metadata().name);
}

std::vector<std::string> ready_versions(const Models& models, const std::string& name) {
  std::vector<std::string> versions;
  for (const IndexEntry& entry : models.index())
    if (entry.name == name && entry.state == kReady) versions.push_back(entry.version);
  return versions;
}

Result<std::vector<std::shared_ptr<Model>>> models_named(const Models& models, const std::string& name,
                                                         const std::string& version) {
  std::vector<std::shared_ptr<Model>> found;
  if (!name.empty() && !version.empty()) {
    MG_TRY(found.emplace_back(), models.find(name, version));
    return found;
  }
  for (const IndexEntry& entry : models.index()) {
    if (entry.state != kReady || (!name.empty() && entry.name != name)) continue;
    auto model = models.find(entry.name, entry.version);
    if (model.ok()) found.push_back(std::move(*model));  // else it was unloaded meanwhile
  }
  if (!name.empty() && found.empty()) MG_RETURN_IF_ERROR(models.find(name, version));
  return found;
}

}  // namespace mangrove::serve

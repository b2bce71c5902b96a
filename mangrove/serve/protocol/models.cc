#include "mangrove/serve/protocol/models.h"

namespace mangrove::serve {
namespace {

constexpr const char* kReady = "READY";

}  // namespace

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

#include "mangrove/cluster/model_signature.h"

#include <sstream>

#include "mangrove/base/printable.h"
#include "mangrove/identity/digest.h"

namespace mangrove::cluster {
namespace {

using identity::Role;

constexpr std::string_view kTitle = "mangrove trained network";  // nothing else that is signed begins so

/// The rest of a line that must begin so. Sets `good` to false if it does not.
std::string value_of(std::istream& lines, std::string_view name, bool& good) {
  std::string line;
  good = good && std::getline(lines, line) && line.starts_with(name);
  return good ? line.substr(name.size()) : "";
}

}  // namespace

Result<std::string> sign_model(const identity::Identity& coordinator, std::string_view model, const std::string& job,
                               const std::string& owner) {
  std::ostringstream text;
  text << kTitle << "\nsha256: " << identity::sha256(model) << "\njob: " << job << "\nowner: " << owner << '\n';
  return sign_text(coordinator, text.str(), identity::wall_now());
}

Result<ModelSignature> ModelSignature::parse(const std::string& signature) {
  ModelSignature found;
  MG_TRY(found.by, identity::SignedText::parse(signature));
  std::istringstream lines(found.by.text);
  bool good = true;
  const std::string behind_title = value_of(lines, kTitle, good);
  found.sha256 = value_of(lines, "sha256: ", good);
  found.job = value_of(lines, "job: ", good);
  found.owner = value_of(lines, "owner: ", good);
  if (good && behind_title.empty()) return found;
  return make_error(Code::invalid_argument,
                    found.by.signer.uri() + " has signed something else than a trained network");
}

Status ModelSignature::check_fits(std::string_view model) const {
  const std::string own = identity::sha256(model);
  if (own == sha256) return {};
  return make_error(Code::invalid_argument, "it is another network than " + by.signer.uri() +
                                                " has signed: expected SHA-256 " + cut_short(printable(sha256)) +
                                                ", found " + own);
}

Status ModelSignature::check_signer(const std::vector<identity::Certificate>& authorities) const {
  MG_RETURN_IF_ERROR(by.check(authorities));
  if (by.signer.role == Role::coordinator) return {};
  return make_error(Code::permission_denied,
                    by.signer.uri() + " has signed it, and only a coordinator signs what a job has trained");
}

}  // namespace mangrove::cluster

#include "mangrove/cli/commands/model_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "mangrove/base/file.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cluster/model_signature.h"
#include "mangrove/identity/store.h"

namespace mangrove::cli {
namespace {

Result<cluster::ModelSignature> verified(const std::string& file,
                                         const std::vector<identity::Certificate>& authorities) {
  MG_TRY(const std::string network, read_file(file));
  Result<cluster::ModelSignature> read = load_signature(file);
  if (!read.ok() && read.code() == Code::not_found)
    return make_error(Code::not_found, file + ": it has no signature: there is no " + file + kSignatureEnding);
  MG_TRY(cluster::ModelSignature signature, std::move(read));
  MG_RETURN_IF_ERROR(signature.check_fits(network).context(file));
  MG_RETURN_IF_ERROR(signature.check_signer(authorities).context(file));
  return signature;
}

}  // namespace

std::string VerifiedModel::line() const {
  if (error) return *error + "\n";
  return fmt::format("{}: signed by {} on {}, left by {} of {}\n", file, *signer, *signed_at, *job, *owner);
}

VerifiedModel verify_model(const std::string& file, const std::vector<identity::Certificate>& authorities) {
  const Result<cluster::ModelSignature> signature = verified(file, authorities);
  VerifiedModel found{.file = file,
                      .is_verified = signature.ok(),
                      .error = {},
                      .sha256 = {},
                      .signer = {},
                      .signed_at = {},
                      .job = {},
                      .owner = {}};
  if (!signature.ok()) {
    found.error = signature.error().message;
    return found;
  }
  found.sha256 = signature->sha256;
  found.signer = signature->by.signer.uri();
  found.signed_at = identity::to_text(signature->by.time);
  found.job = signature->job;
  found.owner = signature->owner;
  return found;
}

Result<std::vector<identity::Certificate>> trusted_authorities(const std::string& file) {
  std::vector<identity::Certificate> found;
  if (!file.empty()) {
    MG_TRY(const std::string text, read_file(file));
    MG_TRY(const std::vector<identity::Certificate> all, identity::parse_certificates(text).context(file));
    for (const identity::Certificate& one : all)
      if (one.is_authority()) found.push_back(one);
    if (found.empty()) return make_error(Code::invalid_argument, file + ": no certificate of an authority in it");
    return found;
  }
  MG_TRY(const auto known, identity::IdentityStore::of_user().all());
  for (const identity::IdentityStore::Entry& entry : known)
    std::ranges::copy(entry.identity.authorities(), std::back_inserter(found));
  if (found.empty())
    return make_error(
        Code::failed_precondition,
        "you are a member of no cluster, so no signature is trusted; join the cluster (mangrove join), or "
        "give --authority FILE");
  return found;
}

}  // namespace mangrove::cli

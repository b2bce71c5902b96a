#include "mangrove/cluster/network_signature.h"

#include <sstream>
#include <string_view>

#include "mangrove/base/printable.h"
#include "mangrove/identity/digest.h"

namespace mangrove::cluster {
namespace {

using identity::Role;
using identity::SignedText;

constexpr const char* kNetworksTitle = "mangrove networks of a job\n";  // nothing else that is signed begins so

std::string line(std::string_view name, const std::string& sha256) {
  return std::string(name) + ": " + sha256 + "\n";
}

/// network: as in the job, or "" where it is named by its SHA-256.
std::string line(std::string_view name, const std::string& network, const std::string& sha256) {
  if (network.empty() && sha256.empty()) return {};
  return line(name, network.empty() ? sha256 : identity::sha256(network));
}

std::string text_of(const infer::InferJob& job) {
  std::string text = line("model", job.model(), job.model_sha256()) + line("outline", job.outline(), "");
  for (const std::string& member : job.members()) text += line("member", identity::sha256(member));
  for (const std::string& sha256 : job.member_sha256()) text += line("member", sha256);
  return text;
}

std::string next_line(std::istream& lines) {
  std::string line;
  return std::getline(lines, line) ? line : "nothing";
}

/// The first network in which both differ. found: in the job.
Error another_network(const std::string& found, const SignedText& wanted) {
  std::istringstream in_job(found), in_signature(wanted.text);
  std::string is, was;
  while (is == was && (in_job || in_signature)) {
    is = next_line(in_job);
    was = next_line(in_signature);
  }
  return make_error(Code::invalid_argument, "the job has another network than " + wanted.signer.uri() +
                                                " has signed: expected \"" + cut_short(printable(was)) +
                                                "\", found \"" + is + "\"");
}

/// What stands in the job's signature, which fits its networks.
Result<SignedText> signature_of(const JobSpec& job, const std::vector<identity::Certificate>& authorities) {
  if (job.networks_signature().empty())
    return make_error(Code::invalid_argument,
                      "the networks of this job are not signed by who began it: is its program older?");
  MG_TRY(SignedText found, SignedText::parse(job.networks_signature()).context("signature of the networks"));
  MG_RETURN_IF_ERROR(found.check(authorities));
  if (found.signer.role != Role::client && found.signer.role != Role::admin)
    return make_error(Code::permission_denied, found.signer.uri() + " has signed the networks of this job, and a " +
                                                   role_name(found.signer.role) + " begins none");
  if (const std::string text = networks_text(job); found.text != text) return another_network(text, found);
  return found;
}

}  // namespace

std::string networks_text(const JobSpec& job) {
  if (job.has_infer()) return kNetworksTitle + text_of(job.infer());
  return kNetworksTitle + line("model", job.train().model(), "") + line("frozen", job.train().frozen(), "");
}

Status sign_networks(JobSpec& job, const identity::Identity& owner) {
  MG_TRY(*job.mutable_networks_signature(), sign_text(owner, networks_text(job), identity::wall_now()));
  return {};
}

Status check_networks(const JobSpec& job, const std::vector<identity::Certificate>& authorities) {
  MG_RETURN_IF_ERROR(signature_of(job, authorities));
  return {};
}

Status check_networks_of(const std::string& owner, const JobSpec& job,
                         const std::vector<identity::Certificate>& authorities) {
  MG_TRY(const SignedText found, signature_of(job, authorities));
  if (found.signer.uri() == owner) return {};
  return make_error(Code::invalid_argument,
                    "the networks of this job are signed by " + found.signer.uri() + ", and it comes from " + owner);
}

}  // namespace mangrove::cluster

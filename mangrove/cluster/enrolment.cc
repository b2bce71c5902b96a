#include "mangrove/cluster/enrolment.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "mangrove/cluster/enrolment.grpc.pb.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/identity/peek.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

using identity::Certificate;
using identity::CertificateRequest;
using identity::Identity;
using identity::JoinString;
using identity::PrivateKey;
using identity::Subject;

constexpr Seconds kSignsWithin = 10;

/// The authority that the string means, of those that the server shows.
Result<Certificate> authority_of(const JoinString& string, const std::vector<Certificate>& shown) {
  const auto found = std::ranges::find_if(
      shown, [&](const Certificate& one) { return one.is_authority() && one.hash() == string.authority_hash; });
  if (found != shown.end()) return *found;
  return make_error(Code::permission_denied, "the coordinator at " + string.address +
                                                 " is of another cluster than the join string; nothing was said to it");
}

Result<Identity> assemble(const PrivateKey& key, const Signed& answer) {
  return Identity::parse(key.pem() + answer.certificate() + answer.authorities())
      .context("the answer of the coordinator");
}

}  // namespace

Result<Identity> enrol(const JoinString& string, const Subject& wished, Deadline deadline, const std::stop_token& stop,
                       const PrivateKey& key) {
  if (string.address.empty())
    return make_error(Code::invalid_argument, "the join string has no address: give --coordinator HOST:PORT");
  MG_TRY(const auto shown, identity::peek_certificates(string.address, deadline, stop).context(string.address));
  return enrol_at(string, shown, wished, stop, key);
}

Result<Identity> enrol_at(const JoinString& string, const std::optional<std::vector<Certificate>>& shown,
                          const Subject& wished, const std::stop_token& stop, const PrivateKey& key) {
  if (!shown)
    return make_error(Code::permission_denied,
                      "what answers at " + string.address + " has no certificate; nothing was said to it");
  MG_TRY(const Certificate authority, authority_of(string, *shown));
  // if the clock is wrong, TLS would not say so
  MG_RETURN_IF_ERROR(check_chain(*shown, {authority}, identity::wall_now())
                         .context("what answers at " + string.address + " is refused, and nothing was said to it"));
  EnrolRequest request;
  request.set_invitation(string.id);
  request.set_secret(string.secret);
  request.set_request(CertificateRequest::make(key, wished).pem());
  const auto stub = Enrolment::NewStub(
      open_channel(string.address, net::stranger_credentials(authority, {identity::Role::coordinator})));
  grpc::ClientContext context;
  context.set_deadline(from_now(kSignsWithin));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  context.AddMetadata(kEnrolMetadata, request.SerializeAsString());
  Signed answer;
  const auto call = stub->Enrol(&context, &answer);
  call->WritesDone();
  MG_RETURN_IF_ERROR(net::from_grpc(call->Finish()).context("joining at " + string.address));
  return assemble(key, answer);
}

Result<Identity> renew(const std::string& coordinator, const net::Credentials& own) {
  const PrivateKey key = PrivateKey::make();
  RenewRequest request;
  request.set_request(CertificateRequest::make(key, own.subject()).pem());
  const auto stub = Enrolment::NewStub(open_channel(coordinator, &own));
  grpc::ClientContext context;
  context.set_deadline(from_now(kSignsWithin));
  Signed answer;
  MG_RETURN_IF_ERROR(
      net::from_grpc(stub->Renew(&context, request, &answer)).context("renewing the certificate at " + coordinator));
  return assemble(key, answer);
}

}  // namespace mangrove::cluster

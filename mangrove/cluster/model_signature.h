#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/signature.h"

namespace mangrove::cluster {

/// Signs the network that a training job has left, as its coordinator. owner: see Job. errors: those of
/// identity::sign_text().
Result<std::string> sign_model(const identity::Identity& coordinator, std::string_view model, const std::string& job,
                               const std::string& owner);

/// What sign_model() says of a network.
struct ModelSignature {
  identity::SignedText by;
  std::string sha256, job, owner;

  /// errors: those of SignedText::parse(); invalid_argument (it is of something else than a trained network).
  static Result<ModelSignature> parse(const std::string& signature);
  /// Checks that it is of this network. errors: invalid_argument (says both SHA-256).
  Status check_fits(std::string_view model) const;
  /// Checks that it is of a coordinator. errors: those of SignedText::check(); permission_denied (another member).
  Status check_signer(const std::vector<identity::Certificate>& authorities) const;
};

/// What a coordinator with certificates adds to the result of a job that has left a network.
struct ModelFacts {
  std::optional<std::string> signature = {};  // of the network, see sign_model()

  static constexpr const char* kSignature = "signature";
  static void fields(auto& self, auto& field) { field(kSignature, self.signature); }
};

}  // namespace mangrove::cluster

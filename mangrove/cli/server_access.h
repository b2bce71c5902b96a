#pragma once

#include <string>

#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/client/open_inference_client.h"

namespace mangrove::cli {

/// How a person's command reaches a server of the Open Inference Protocol.
struct ServerFlags {
  std::string url;          // "": none
  std::string token_file;   // "": no token
  std::string ca_file;      // PEM; "": the system's authorities, or that of the identity
  std::string server_name;  // of the certificate; "": the host, or with an identity of a cluster that of its servers
  Seconds call_within = 60;

  void declare(Keys& keys);
};

/// identity: a PEM file to show; "": none. insecure: a token may go over plain text to other machines.
/// errors: invalid_argument (the address), failed_precondition (a token in plain text); those of reading the files.
Result<serve::ServerAccess> server_access(const ServerFlags& flags, const std::string& identity, bool insecure);

}  // namespace mangrove::cli

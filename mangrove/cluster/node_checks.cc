#include "mangrove/cluster/node_checks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "mangrove/base/printable.h"
#include "mangrove/cluster/address.h"

namespace mangrove::cluster {
namespace {

constexpr std::size_t kLongestText = 256;  // a name of a host has up to 253 characters
constexpr std::size_t kMostLabels = 32, kLongestLabel = 63;
constexpr double kMostFlops = 1e18;
constexpr double kMostPercent = 100.0 * kMostCores;

Status check_text(const char* key, const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (is_plain && text.size() <= kLongestText) return {};
  return make_error(Code::invalid_argument, std::string(key) + ": must be a text of at most " +
                                                std::to_string(kLongestText) + " bytes without control characters");
}

/// False for NaN, too.
Status check_range(const char* key, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return make_error(Code::invalid_argument, std::string(key) + ": cannot be " + std::to_string(value));
}

Status check_count(const char* key, std::int64_t value) {
  if (value >= 0) return {};
  return make_error(Code::invalid_argument, std::string(key) + ": cannot be " + std::to_string(value));
}

Status check(const NodeDescription& node) {
  MG_RETURN_IF_ERROR(check_text("host", node.host()));
  MG_RETURN_IF_ERROR(check_text("address", node.address()));
  MG_RETURN_IF_ERROR(parse_host_port(node.address()));
  MG_RETURN_IF_ERROR(check_range("cores", node.cores(), 0, kMostCores));
  MG_RETURN_IF_ERROR(check_range("threads", node.threads(), 0, kMostCores));
  MG_RETURN_IF_ERROR(check_count("memory_bytes", node.memory_bytes()));
  MG_RETURN_IF_ERROR(check_labels({node.labels().begin(), node.labels().end()}));
  return check_range("reference_conv_flops", node.reference_conv_flops(), 0, kMostFlops);
}

Status check_flows(const google::protobuf::RepeatedPtrField<PeerFlow>& flows) {
  for (const PeerFlow& flow : flows) {
    MG_RETURN_IF_ERROR(check_text("flows: peer", flow.peer()));
    MG_RETURN_IF_ERROR(check_text("flows: purpose", flow.purpose()));
    MG_RETURN_IF_ERROR(check_count("flows: sent_bytes", flow.sent_bytes()));
    MG_RETURN_IF_ERROR(check_count("flows: received_bytes", flow.received_bytes()));
  }
  return {};
}

Status check(const ResourceUse& use) {
  MG_RETURN_IF_ERROR(check_range("cpu_percent", use.cpu_percent(), 0, kMostPercent));
  MG_RETURN_IF_ERROR(check_count("rss_bytes", use.rss_bytes()));
  MG_RETURN_IF_ERROR(check_count("sent_bytes", use.sent_bytes()));
  MG_RETURN_IF_ERROR(check_count("received_bytes", use.received_bytes()));
  MG_RETURN_IF_ERROR(check_count("minor_faults", use.minor_faults()));
  MG_RETURN_IF_ERROR(check_count("major_faults", use.major_faults()));
  MG_RETURN_IF_ERROR(check_range("core_percent: cores", use.core_percent_size(), 0, kMostCores));
  for (const float percent : use.core_percent()) MG_RETURN_IF_ERROR(check_range("core_percent", percent, 0, 100));
  MG_RETURN_IF_ERROR(check_flows(use.flows()));
  for (const RoleUse& role : use.roles()) {
    MG_RETURN_IF_ERROR(check_text("roles: job_id", role.job_id()));
    MG_RETURN_IF_ERROR(check_flows(role.flows()));
  }
  return {};
}

}  // namespace

Status check_labels(const std::vector<std::string>& labels) {
  if (labels.size() > kMostLabels)
    return make_error(Code::invalid_argument,
                      "labels: at most " + std::to_string(kMostLabels) + ", got " + std::to_string(labels.size()));
  for (const std::string& label : labels) {
    const bool is_plain = std::ranges::all_of(label, [](unsigned char c) {
      return std::isalnum(c) != 0 || std::string_view("-_.=/").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (label.empty() || label.size() > kLongestLabel || !is_plain)
      return make_error(Code::invalid_argument, "labels: '" + printable(cut_short(label, kLongestLabel)) +
                                                    "' must have 1 to " + std::to_string(kLongestLabel) +
                                                    " letters, digits and - _ . = /");
  }
  return {};
}

Status check_message(const FromNode& message) {
  const auto length = static_cast<Bytes>(message.ByteSizeLong());
  const Bytes longest = message.has_heartbeat() ? kLongestHeartbeat : kLongestNodeMessage;
  if (length > longest)
    return make_error(Code::resource_exhausted,
                      "a message of " + format_bytes(length) + ", where " + format_bytes(longest) + " is the longest");
  if (message.has_hello()) return check(message.hello()).context("hello");
  if (message.has_heartbeat()) return check(message.heartbeat()).context("heartbeat");
  return {};
}

}  // namespace mangrove::cluster

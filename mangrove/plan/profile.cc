#include "mangrove/plan/profile.h"

#include <algorithm>

#include "mangrove/base/config_file.h"

namespace mangrove::plan {
namespace {

constexpr const char* kHead = "profile";
constexpr std::string_view kOperator = "operator ";
constexpr std::int64_t kMost = 1'000'000'000;

Keys head_keys(Profile& profile) {
  Keys keys;
  keys.add("model", profile.model, "what was measured");
  keys.add("device", profile.device, "where");
  keys.add("backend", profile.backend, "with which kernels");
  keys.add("batch", profile.batch, "samples of a micro-batch", 1, kMost);
  keys.add("threads", profile.threads, "of the kernels", 1, 1024);
  keys.add("training", profile.training, "forward and backward, else forward as for inference");
  keys.add_bytes("process", profile.process, "memory of the process beside the network's");
  keys.add("data", profile.data, "the data set whose samples were read");
  keys.add_seconds("read", profile.read, "of reading a micro-batch of it, e.g. 1.5ms");
  return keys;
}

Keys operator_keys(OperatorProfile& one) {
  Keys keys;
  keys.add("kind", one.kind, "operator, e.g. Conv");
  keys.add("flops", one.flops, "floating-point operations, forward");
  keys.add_bytes("moved", one.moved, "bytes read and written, forward");
  keys.add_seconds("forward", one.forward, "time, e.g. 1.5ms");
  keys.add_seconds("backward", one.backward, "time, e.g. 3ms");
  keys.add_bytes("weights", one.weights, "bytes of its parameters, as its kernels have them");
  keys.add_bytes("memory", one.memory, "bytes of values and workspace while it runs; training: kept for backward");
  return keys;
}

}  // namespace

const OperatorProfile* Profile::find(const std::string& name) const {
  const auto found = std::ranges::find(operators, name, &OperatorProfile::name);
  return found == operators.end() ? nullptr : &*found;
}

std::string to_yaml(const Profile& profile) {
  Profile copy = profile;
  std::string text = to_yaml(kHead, head_keys(copy));
  for (OperatorProfile& one : copy.operators) text += to_yaml(std::string(kOperator) + one.name, operator_keys(one));
  return text;
}

Result<Profile> load_profile(const fs::path& path) {
  MG_TRY(const std::string text, read_file(path));
  return parse_profile(text, path);
}

Result<Profile> parse_profile(const std::string& text, const fs::path& path) {
  MG_TRY(const ConfigFile file, ConfigFile::parse(text, path, {"profile", {}, kHead}));
  Profile profile;
  OperatorProfile any;
  std::vector<std::string> known = head_keys(profile).names();
  for (const std::string& name : operator_keys(any).names()) known.push_back(name);
  MG_RETURN_IF_ERROR(file.check_common(known));
  bool has_head = false;
  for (const ConfigFile::Section& section : file.sections()) {
    if (section.name == kHead) {
      has_head = true;
      MG_RETURN_IF_ERROR(file.apply(section, head_keys(profile)));
    } else if (section.name.starts_with(kOperator)) {
      OperatorProfile one;
      one.name = section.name.substr(kOperator.size());
      MG_RETURN_IF_ERROR(file.apply(section, operator_keys(one)));
      profile.operators.push_back(std::move(one));
    } else {
      return make_error(Code::invalid_argument, file.where(section.line) + ": unknown section '" + section.name +
                                                    "'; expected 'profile' or 'operator NAME'");
    }
  }
  if (!has_head) return make_error(Code::invalid_argument, path.string() + ": no section 'profile'");
  if (profile.operators.empty())
    return make_error(Code::invalid_argument, path.string() + ": no section 'operator NAME'");
  return profile;
}

}  // namespace mangrove::plan

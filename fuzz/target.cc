#include "fuzz/target.h"

#include <algorithm>

#include "fuzz/targets/data_files.h"
#include "fuzz/targets/messages.h"
#include "fuzz/targets/networks.h"
#include "fuzz/targets/requests.h"
#include "fuzz/targets/settings.h"
#include "fuzz/targets/tensors.h"

namespace mangrove::fuzz {
namespace {

constexpr Target kTargets[] = {
    {"access_tokens", &access_tokens},
    {"announced", &announced},
    {"boards", &boards},
    {"checkpoint", &checkpoint},
    {"cifar", &cifar},
    {"codec", &codec},
    {"coded_model", &coded_model},
    {"csv", &csv},
    {"data_spec", &data_spec},
    {"devices", &devices},
    {"grpc_request", &grpc_request},
    {"gzip", &gzip},
    {"idx", &idx},
    {"image", &image},
    {"infer_messages", &infer_messages},
    {"inference_answer", &inference_answer},
    {"job_file", &job_file},
    {"job_spec", &job_spec},
    {"json_request", &json_request},
    {"motion_jpeg", &motion_jpeg},
    {"npy", &npy},
    {"onnx", &onnx},
    {"onnx_external", &onnx_external},
    {"onnx_outline", &onnx_outline},
    {"onnx_tensor", &onnx_tensor},
    {"profile", &profile},
    {"report", &report},
    {"rest_target", &rest_target},
    {"safetensors", &safetensors},
    {"secure_sum", &secure_sum},
    {"sensor_message", &sensor_message},
    {"sensor_sources", &sensor_sources},
    {"shard", &shard},
    {"signature", &signature},
    {"tar", &tar},
    {"tiers", &tiers},
    {"train_messages", &train_messages},
    {"world", &world},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

}  // namespace mangrove::fuzz

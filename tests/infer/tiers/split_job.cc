#include "tests/infer/tiers/split_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/privacy/split.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::infer {

void add_tier(InferJob& job, const std::string& name, const std::string& privacy) {
  TierPart& part = *job.add_tiers();
  part.set_name(name);
  part.set_devices(1);
  part.set_trusted(privacy.empty());
  part.set_privacy(privacy);
  if (privacy.empty()) {
    job.add_members(encode_onnx(small_graph()));
    job.add_bottom_models();
    job.add_noises();
    return;
  }
  const privacy::PrivacySetting parsed = *privacy::parse_privacy(privacy);
  const GraphHalves halves = *split_behind(small_graph(), parsed.layer);
  job.add_members(encode_onnx(halves.back));
  job.add_bottom_models(encode_onnx(halves.front));
  job.add_noises(parsed.trained.empty() ? "" : noise_behind_pool());
}

std::string noise_behind_pool() {
  Tensor noise(DType::f32, {3, 4, 6, 6});
  Random random(9);
  for (float& value : noise.as<float>()) value = static_cast<float>(3 * random.normal());
  return encode_safetensors({{{"pool", noise}}, {}});
}

InferJob split_job(const std::string& privacy_of_cloud) {
  InferJob job = small_job(kSplitSamples, 0);
  job.clear_model();
  job.set_strategy("tiers");
  job.set_scheduler("end-cloud");
  job.set_policy("monitor");
  job.set_answer_timeout_s(2);
  job.set_noise_seed(11);
  add_tier(job, "end", "");
  add_tier(job, "cloud", privacy_of_cloud);
  return job;
}

}  // namespace mangrove::infer

#include "fuzz/targets/settings.h"

#include <string>

#include "fuzz/memory_file.h"

#include "mangrove/base/config_file.h"
#include "mangrove/cluster/announced.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/spec.h"
#include "mangrove/infer/keys.h"
#include "mangrove/infer/tiers/tier_file.h"
#include "mangrove/plan/device_file.h"
#include "mangrove/plan/pipedream.h"
#include "mangrove/plan/profile.h"
#include "mangrove/privacy/split.h"
#include "mangrove/sensors/sources_file.h"
#include "mangrove/sim/world.h"
#include "mangrove/testbed/board_file.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/keys.h"

namespace mangrove::fuzz {

void announced(std::string_view bytes) {
  static_cast<void>(cluster::names_authority(bytes, {std::string(64, 'a')}));
  static_cast<void>(cluster::announced_address(std::string(bytes), 7070));
}

void boards(std::string_view bytes) {
  const MemoryFile file(bytes);
  static_cast<void>(testbed::load_boards(file.path()));
}

void data_spec(std::string_view bytes) {
  const auto spec = data::DatasetSpec::parse(bytes);
  if (spec.ok()) static_cast<void>(data::DatasetSpec::parse(spec->text()));
  static_cast<void>(privacy::parse_privacy(bytes));
  const auto refuse = []() -> Result<std::shared_ptr<const data::Dataset>> {
    return make_error(Code::not_found, "no samples");
  };
  static_cast<void>(data::Augmentation::create(std::string(bytes), Shape{3, 8, 8}, refuse));
}

void devices(std::string_view bytes) {
  const MemoryFile file(bytes);
  static_cast<void>(plan::load_devices(file.path()));
}

void job_file(std::string_view bytes) {
  const auto file = ConfigFile::parse(std::string(bytes), "job.yaml", {"job file", {"train", "infer"}, "train"});
  if (!file.ok()) return;
  for (const ConfigFile::Section& section : file->sections()) {
    train::TrainJob training;
    infer::InferJob inference;
    Keys keys;
    section.name == "train" ? train::add_keys(training, keys) : infer::add_keys(inference, keys);
    if (file->apply(section, keys).ok() && section.name == "train") static_cast<void>(train::check_job(training));
  }
}

void profile(std::string_view bytes) {
  static_cast<void>(plan::parse_profile(std::string(bytes), "profile.yaml"));
  static_cast<void>(plan::parse_pipedream(std::string(bytes)));
}

void sensor_sources(std::string_view bytes) {
  static_cast<void>(sensors::parse_sources(std::string(bytes), "sources.yaml"));
}

void tiers(std::string_view bytes) {
  const MemoryFile file(bytes);
  static_cast<void>(infer::load_tiers(file.path()));
}

void world(std::string_view bytes) {
  const MemoryFile file(bytes);
  static_cast<void>(sim::load_world(file.path()));
}

}  // namespace mangrove::fuzz

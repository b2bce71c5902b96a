#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/sensors/counts.h"
#include "mangrove/sensors/sources_file.h"
#include "mangrove/serve/protocol/models.h"

namespace mangrove::sensors {

struct SensorOptions {
  SourcesFile file;
  std::string model;                         // of sources that name none
  data::DataFolder data_folder = {};         // see serve::ImageClassifier
  std::function<Seconds()> wall_clock = {};  // since 1970; empty: the machine's
};

/// Asks the models for each message of each source, and sends what they say to the sinks. One thread does all of it,
/// beside one of each link. What waits is bounded: messages of a source by its queue, questions on their way to a model
/// by 256 and 64 MB, beyond which one message may go by the windows that it completes, what is sent by the outbox. A
/// question that a model cannot take now is asked again. threads: any thread may call any method.
class SensorService {
 public:
  /// models: must outlive it. errors: those of the offline buffer and of LinkKind::start(); not_found (no such model);
  /// invalid_argument (a window that the model does not take).
  static Result<std::unique_ptr<SensorService>> start(serve::Models& models, const SensorOptions& options);
  /// Stops at once.
  ~SensorService();

  SensorCounts counts() const;
  /// Refuses messages whose senders wait for the answer. All others get their answers, and answers their confirmation,
  /// until there are none or `grace` is over; then the links are closed.
  void stop(Seconds grace);

 private:
  struct Parts;
  explicit SensorService(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace mangrove::sensors

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/sensors/source_options.h"
#include "mangrove/sensors/topic.h"
#include "mangrove/serve/protocol/image_classifier.h"

namespace mangrove::sensors {

/// A sample of a source on its way through the network.
struct Question {
  std::size_t source = 0;
  TopicFacts facts;
  std::string raw;            // the message; empty: of a window there is none
  std::vector<float> values;  // empty: `raw` is an image
  std::function<void(Result<std::string>)> reply = {};

  Bytes bytes() const { return static_cast<Bytes>(raw.size() + values.size() * sizeof(float)); }
};

/// What is said about a sample: the text of an answer, and whether the network was sure enough.
struct Verdict {
  std::string text;  // JSON
  bool is_undecided = false;
};

/// The request to a model. errors: invalid_argument (the model takes other numbers than the sample has; names both),
/// those of serve::ImageClassifier.
Result<serve::InferenceRequest> request_of(const Question& question, const SourceOptions& source,
                                           const serve::ModelMetadata& model, serve::ImageClassifier& images);

/// The answer as JSON. errors: invalid_argument (no classes, though `top` wants them), internal (no probabilities).
Result<Verdict> verdict_of(const Question& question, const SourceOptions& source, const serve::ModelMetadata& model,
                           const serve::InferenceResponse& response);

/// A source that the model can never answer. rows: of its windows. errors: invalid_argument.
Status check_fit(const SourceOptions& source, std::size_t rows, const serve::ModelMetadata& model);

}  // namespace mangrove::sensors

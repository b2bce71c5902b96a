#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/graph.h"
#include "mangrove/privacy/split.h"

namespace mangrove::privacy {

/// Nodes of a network behind which it can be split, as a privacy setting names them (see split_for_privacy): the first
/// `most` whose only output is the one value that crosses there, f32 with the samples in dimension 0.
std::vector<std::string> split_nodes(const Graph& graph, std::size_t most);

struct LeakageOptions {
  std::int64_t images = 1000;  // held-out ones, from all over their split, to reconstruct and to classify
  std::int64_t steps = 400;    // of a decoder's training
  std::int64_t batch = 32;
  std::int64_t examples = 0;  // reconstructions to keep, of the first of these
  std::string backend{};      // "" takes the fastest
  int threads = 1;
  std::uint64_t seed = 1;
};

/// How well images can be reconstructed, on average.
struct Likeness {
  double ssim = 0, psnr = 0;  // see learn/image_quality.h
};

/// What a privacy setting shows, and costs.
struct Leakage {
  Likeness likeness;
  double accuracy = 0;             // of the network on the held-out images, with what is sent
  double snr = 0;                  // in vivo: the mean square of the layer's values over the variance of what noise and
                                   // levels change in them; infinite where they change nothing
  Bytes bytes = 0;                 // sent for an image
  std::int64_t multiply_adds = 0;  // of the bottom model, for an image
  Seconds seconds = 0;             // of the bottom model, for an image, in batches
  std::vector<std::vector<float>> examples;
};

/// Where images come from: the decoder learns from some and is measured on others. Samples are images of 0 to 1, what
/// the network takes is prepared from them.
struct LeakageData {
  std::shared_ptr<const data::Dataset> training, held_out;
  std::shared_ptr<const data::Augmentation> preparation;  // null: none
};

/// The first so many of the held-out images that are looked at. errors: those of Dataset::read.
Result<std::vector<std::vector<float>>> held_out_examples(const LeakageData& data, const LeakageOptions& options);

/// Trains a decoder (decoder.h) on what a device that is not trusted gets of the training images, and has it
/// reconstruct the held-out ones. Whoever wrote the setting knows noise and levels, so does the decoder: its training
/// values have them too, but not which of the tensors of trained noise an image got. trained: see append_sent. graph: a
/// classifier. progress: told after each step of the decoder's training how many are done. errors: those of
/// split_behind, Decoder::create, CompiledStage::create, Replica::create, check_fits and Loader::next; invalid_argument
/// (an empty split); cancelled.
Result<Leakage> measure_leakage(const Graph& graph, const PrivacySetting& privacy, const LeakageData& data,
                                const LeakageOptions& options, const Clock& clock, std::stop_token stop,
                                std::span<const float> trained = {},
                                const std::function<void(std::int64_t steps)>& progress = {});

/// Of whoever gets nothing, and says the mean of some training images. errors: those of Dataset::read. REQUIRES images
/// in both splits.
Result<Likeness> likeness_of_guess(const LeakageData& data, const LeakageOptions& options);

}  // namespace mangrove::privacy

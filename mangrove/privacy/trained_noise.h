#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "mangrove/graph/graph.h"
#include "mangrove/privacy/leakage.h"
#include "mangrove/privacy/split.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::privacy {

struct NoiseOptions {
  std::int64_t tensors = 8;  // of a collection
  std::int64_t steps = 400;  // of the training of each
  std::int64_t batch = 32;
  double snr = 1;         // wanted: the mean square of the values over the variance of the noise
  std::string backend{};  // "" takes the fastest
  int threads = 1;
  std::uint64_t seed = 1;  // of the tensors' first values and of the order of images
};

/// A collection of noise tensors, f32 [tensors, ...], for the values [...] behind a layer: each, added to them, is to
/// leave the classes of images as they are. They are trained one by one, on the same frozen network, each from first
/// values of its own, which are drawn from Laplace(0, b) with b such that the ratio is four times the wanted one, so
/// that training makes the noise larger. A step is one of Adam, with a rate that falls to 0, down the loss
///
///   mean cross-entropy of a batch with the noise - lambda * sum |n_j|
///
/// While the ratio is above the wanted one, lambda is such that the gradients of both terms are equally long; below it
/// lambda falls by a tenth with each step. With 0 steps the first values are the result.
/// source: Mireshghallah et al., Shredder: learning noise distributions to protect inference privacy, ASPLOS 2020. Not
/// as there: lambda and b are not set by hand; and the tensors themselves are used, where Shredder fits a Laplace
/// distribution to each, and gives fresh draws of it the order of the tensor's elements.
/// graph: a classifier with one exit. Of data only the training images are used. progress: told how many of all steps,
/// those of every tensor, are done. errors: those of check_fits,
/// split_for_privacy, Stage::create, with_noise, Replica::create and Loader::next; invalid_argument (no training
/// images); cancelled.
Result<Tensor> train_noise(const Graph& graph, const std::string& layer, const LeakageData& data,
                           const NoiseOptions& options, std::stop_token stop,
                           const std::function<void(std::int64_t steps)>& progress = {});

constexpr const char* kNoiseParameter = "mangrove.noise";  // of with_noise

/// What lies behind a cut, as in inference, with a parameter kNoiseParameter [1, ...] of zeros that is added to its
/// input [N, ...]. Batch normalizations are constant factors and offsets, so that they are the same in training mode.
/// errors: unimplemented (a batch normalization whose statistics are not constants: names it); those of optimize.
Result<Graph> with_noise(const Graph& back);

/// The collection that a setting with trained noise is about, [tensors, ...] for the values [...] that its bottom
/// model, a network with one output [N, ...], sends of a sample; an empty tensor where the setting has no trained
/// noise. file: the bytes of Privacy::trained, in safetensors format: a collection under the name of each layer that it
/// was trained for. errors, with "privacy: trained=FILE" in front: those of parse_safetensors; not_found (no such
/// layer: names those that are there); invalid_argument (another type or shape: names both; a value that is not
/// finite).
Result<Tensor> noise_of(std::string_view file, const PrivacySetting& privacy, const Graph& bottom);

}  // namespace mangrove::privacy

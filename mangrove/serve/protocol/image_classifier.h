#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/learn/image_input.h"
#include "mangrove/learn/top_classes.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// Makes requests of images, as `mangrove predict` prepares them: as the network's samples were in training.
/// threads: any thread may call any method.
class ImageClassifier {
 public:
  /// data_folder: of the data sets; only networks that were trained with zca need it.
  explicit ImageClassifier(data::DataFolder data_folder) : data_folder_(std::move(data_folder)) {}

  /// The question about one image: for the output that classifies. image: a JPEG, PNG, PPM or PGM file.
  /// errors: invalid_argument (the model takes no images, or does not classify; the bytes are no image), those of
  /// learn::image_preparation_of().
  Result<InferenceRequest> request(const ModelMetadata& model, std::string_view image);
  /// The `count` most probable classes of the answer to it, the best first. errors: internal (not the output asked
  /// for).
  static Result<std::vector<learn::RankedClass>> top_classes(const InferenceResponse& response, std::size_t count);

 private:
  using Preparation = std::shared_ptr<const learn::ImagePreparation>;
  Result<Preparation> preparation(const ModelMetadata& model, const Shape& sample);

  const data::DataFolder data_folder_;
  Mutex mutex_;
  std::map<std::string, Preparation> kept_ MG_GUARDED_BY(mutex_);  // by all that it is made of
};

/// Of a network with early exits, whose outputs are alike, the last output answers; else the first. Null: it is not
/// f32 [N, classes].
const TensorMetadata* classifying_output(const ModelMetadata& model);

/// Whether two versions of a model want their images prepared in the same way.
bool are_prepared_alike(const ModelMetadata& one, const ModelMetadata& other);

/// The name of a class, or its number.
std::string class_label(const ModelMetadata& model, std::size_t number);

}  // namespace mangrove::serve

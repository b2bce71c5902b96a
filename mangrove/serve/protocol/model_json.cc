#include "mangrove/serve/protocol/model_json.h"

#include <utility>

#include "mangrove/serve/protocol/datatype.h"
#include "mangrove/serve/protocol/image_classifier.h"
#include "mangrove/serve/protocol/server_facts.h"

namespace mangrove::serve {
namespace {

using Json = nlohmann::ordered_json;

Json tensors_json(const std::vector<TensorMetadata>& tensors) {
  Json list = Json::array();
  for (const TensorMetadata& tensor : tensors)
    list.push_back({{"name", tensor.name}, {"datatype", datatype_name(tensor.dtype)}, {"shape", tensor.shape}});
  return list;
}

Json configured_tensors(const ModelMetadata& model, const std::vector<TensorMetadata>& tensors) {
  Json list = Json::array();
  for (const TensorMetadata& tensor : tensors)
    list.push_back({{"name", tensor.name},
                    {"data_type", configuration_type(tensor.dtype)},
                    {"dims", configuration_dims(model, tensor)}});
  return list;
}

Json duration_json(const DurationCount& duration) {
  return {{"count", duration.count}, {"ns", duration.nanoseconds}};
}

Json model_statistics_json(const Model& model) {
  const ModelStatistics statistics = model.statistics();
  Json batches = Json::array();
  for (const auto& [size, batch] : statistics.batches)
    batches.push_back({{"batch_size", size},
                       {"compute_input", duration_json(batch.compute_input)},
                       {"compute_infer", duration_json(batch.compute_infer)},
                       {"compute_output", duration_json(batch.compute_output)}});
  return {{"name", model.metadata().name},
          {"version", model.metadata().version},
          {"last_inference", statistics.last_inference},
          {"inference_count", statistics.inferences},
          {"execution_count", statistics.executions},
          {"inference_stats",
           {{"success", duration_json(statistics.success)},
            {"fail", duration_json(statistics.fail)},
            {"queue", duration_json(statistics.queue)},
            {"compute_input", duration_json(statistics.compute_input)},
            {"compute_infer", duration_json(statistics.compute_infer)},
            {"compute_output", duration_json(statistics.compute_output)}}},
          {"batch_stats", std::move(batches)}};
}

}  // namespace

Json server_json(const std::string& version) {
  return {{"name", kServerTitle}, {"version", version}, {"extensions", kExtensions}};
}

Json metadata_json(const ModelMetadata& model, const std::vector<std::string>& versions) {
  return {{"name", model.name},
          {"versions", versions},
          {"platform", model.platform},
          {"inputs", tensors_json(model.inputs)},
          {"outputs", tensors_json(model.outputs)}};
}

Json configuration_json(const ModelMetadata& model) {
  Json parameters = Json::object();
  for (const auto& [name, value] : model.properties) parameters[name] = {{"string_value", value}};
  return {{"name", model.name},
          {"platform", model.platform},
          {"backend", kServerTitle},
          {"max_batch_size", configuration_batch(model)},
          {"input", configured_tensors(model, model.inputs)},
          {"output", configured_tensors(model, model.outputs)},
          {"parameters", std::move(parameters)}};
}

Json statistics_json(const std::vector<std::shared_ptr<Model>>& models) {
  Json list = Json::array();
  for (const auto& model : models) list.push_back(model_statistics_json(*model));
  return {{"model_stats", std::move(list)}};
}

Result<Json> classification_json(const ModelMetadata& model, const InferenceResponse& answer, std::size_t count) {
  MG_TRY(const auto ranked, ImageClassifier::top_classes(answer, count));
  Json top = Json::array();
  for (const learn::RankedClass& one : ranked)
    top.push_back({{"class", one.number}, {"label", class_label(model, one.number)}, {"probability", one.probability}});
  return Json{{"model_name", model.name}, {"model_version", answer.version}, {"top", std::move(top)}};
}

Json index_json(const std::vector<IndexEntry>& index, bool only_ready) {
  Json list = Json::array();
  for (const IndexEntry& entry : index) {
    if (only_ready && entry.state != "READY") continue;
    Json row = {{"name", entry.name}, {"version", entry.version}, {"state", entry.state}};
    if (!entry.reason.empty()) row["reason"] = entry.reason;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace mangrove::serve

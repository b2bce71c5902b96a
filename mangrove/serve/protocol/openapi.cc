#include "mangrove/serve/protocol/openapi.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "mangrove/serve/http/server_events.h"
#include "mangrove/serve/protocol/routes.h"
#include "mangrove/serve/update/trial_rule.h"

namespace mangrove::serve {
namespace {

using Json = nlohmann::ordered_json;

Json schema_of(const char* name) {
  return {{"$ref", std::string("#/components/schemas/") + name}};
}
Json content(const char* type, Json schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

struct Body {
  const char* type;
  const char* schema;
};
/// "": no body, or any.
Body request_of(Operation operation) {
  switch (operation) {
    case Operation::infer:
      return {"application/json", "InferenceRequest"};
    case Operation::classify:
      return {"application/octet-stream", "Bytes"};
    case Operation::list_models:
      return {"application/json", "IndexRequest"};
    case Operation::update_model:
      return {"application/octet-stream", "Bytes"};
    default:
      return {"", ""};
  }
}
Body response_of(Operation operation) {
  switch (operation) {
    case Operation::infer:
      return {"application/json", "InferenceResponse"};
    case Operation::classify:
      return {"application/json", "Classification"};
    case Operation::describe_model:
      return {"application/json", "ModelMetadata"};
    case Operation::list_models:
      return {"application/json", "Index"};
    case Operation::describe_service:
      return {"application/json", "Service"};
    case Operation::export_metrics:
      return {"text/plain", "Text"};
    default:
      return {"application/json", "Object"};
  }
}

Json path_parameter(const char* name) {
  return {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}};
}

Json parameters_of_route(const Route& route) {
  const std::string_view path = route.path;
  Json list = Json::array();
  if (path.find("{model}") != std::string_view::npos) list.push_back(path_parameter("model"));
  if (path.find("{version}") != std::string_view::npos) list.push_back(path_parameter("version"));
  if (route.operation == Operation::classify) {
    list.push_back({{"name", "k"},
                    {"in", "query"},
                    {"description", "how many classes"},
                    {"schema", {{"type", "integer"}, {"minimum", 1}, {"default", 5}}}});
    list.push_back({{"name", "exit_thresholds"},
                    {"in", "query"},
                    {"description",
                     "of events: at which normalised entropies the sample leaves each early exit, or none; without it "
                     "those in the network's metadata"},
                    {"schema", {{"type", "string"}}}});
  }
  if (route.operation == Operation::update_model) {
    list.push_back({{"name", "share"},
                    {"in", "query"},
                    {"description", "of the requests that the new version gets in a trial; none: there is no trial"},
                    {"schema", {{"type", "number"}, {"minimum", 0}, {"maximum", kLargestShare}}}});
    list.push_back({{"name", "requests"},
                    {"in", "query"},
                    {"description", "that the new version must have answered before it takes over"},
                    {"schema", {{"type", "integer"}, {"minimum", 1}, {"default", TrialRule().requests}}}});
  }
  if (route.operation == Operation::infer)
    list.push_back({{"name", "Inference-Header-Content-Length"},
                    {"in", "header"},
                    {"description", "bytes of the JSON, if bytes of inputs are behind it"},
                    {"schema", {{"type", "integer"}, {"minimum", 0}}}});
  return list;
}

Json call_of(const Route& route, bool asks) {
  const Body request = request_of(route.operation), response = response_of(route.operation);
  Json call = {{"summary", route.summary}, {"parameters", parameters_of_route(route)}};
  if (*request.type != '\0')
    call["requestBody"] = {{"required", route.operation != Operation::list_models},
                           {"content", content(request.type, schema_of(request.schema))}};
  Json answers = content(response.type, schema_of(response.schema));
  if (route.operation == Operation::classify) answers[kEventStream] = {{"schema", schema_of("Text")}};
  call["responses"] = {
      {"200", {{"description", "done"}, {"content", std::move(answers)}}},
      {"default",
       {{"description", "refused or failed"}, {"content", content("application/json", schema_of("Error"))}}}};
  if (asks && route.right != Right::none) call["security"] = Json::array({{{"token", Json::array()}}});
  return call;
}

Json tensor_schema() {
  Json properties = {
      {"name", {{"type", "string"}}},
      {"shape", {{"type", "array"}, {"items", {{"type", "integer"}}}}},
      {"datatype", {{"type", "string"}, {"enum", {"BOOL", "UINT8", "INT8", "INT32", "INT64", "FP32", "FP64"}}}},
      {"parameters", {{"type", "object"}}},
      {"data", {{"type", "array"}, {"items", Json::object()}, {"description", "row by row, or lists in lists"}}}};
  return {{"type", "object"},
          {"required", Json::array({"name", "shape", "datatype"})},
          {"properties", std::move(properties)}};
}

Json schemas() {
  const Json text = {{"type", "string"}}, object = {{"type", "object"}};
  const auto list_of = [](const char* name) { return Json{{"type", "array"}, {"items", schema_of(name)}}; };
  const Json wish = {{"type", "object"},
                     {"required", Json::array({"name"})},
                     {"properties", {{"name", text}, {"parameters", object}}}};
  return {
      {"Error", {{"type", "object"}, {"properties", {{"error", text}}}}},
      {"Object", object},
      {"Text", text},
      {"Bytes", {{"type", "string"}, {"format", "binary"}}},
      {"Tensor", tensor_schema()},
      {"RequestedOutput", wish},
      {"InferenceRequest",
       {{"type", "object"},
        {"required", Json::array({"inputs"})},
        {"properties",
         {{"id", text},
          {"parameters",
           {{"type", "object"},
            {"properties",
             {{"priority", {{"type", "integer"}, {"description", "1 is answered first, 100 last; 0: 50"}}},
              {"timeout", {{"type", "integer"}, {"description", "microseconds; 0: none"}}},
              {"binary_data_output", {{"type", "boolean"}}}}}}},
          {"inputs", list_of("Tensor")},
          {"outputs", list_of("RequestedOutput")}}}}},
      {"InferenceResponse",
       {{"type", "object"},
        {"properties", {{"model_name", text}, {"model_version", text}, {"id", text}, {"outputs", list_of("Tensor")}}}}},
      {"Classification",
       {{"type", "object"},
        {"properties",
         {{"model_name", text},
          {"model_version", text},
          {"top",
           {{"type", "array"},
            {"items",
             {{"type", "object"},
              {"properties",
               {{"class", {{"type", "integer"}}}, {"label", text}, {"probability", {{"type", "number"}}}}}}}}}}}}},
      {"ModelMetadata",
       {{"type", "object"},
        {"properties",
         {{"name", text},
          {"versions", {{"type", "array"}, {"items", text}}},
          {"platform", text},
          {"inputs", list_of("Tensor")},
          {"outputs", list_of("Tensor")}}}}},
      {"Service",
       {{"type", "object"},
        {"properties", {{"name", text}, {"versions", {{"type", "array"}, {"items", object}}}, {"update", object}}}}},
      {"IndexRequest", {{"type", "object"}, {"properties", {{"ready", {{"type", "boolean"}}}}}}},
      {"Index", {{"type", "array"}, {"items", object}}}};
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

Json openapi_page(const std::string& version, bool asks) {
  Json paths = Json::object();
  for (const Route& route : routes()) paths[route.path][lower_case(route.method)] = call_of(route, asks);
  Json components = {{"schemas", schemas()}};
  if (asks) components["securitySchemes"] = {{"token", {{"type", "http"}, {"scheme", "bearer"}}}};
  return {{"openapi", "3.0.3"},
          {"info", {{"title", "Mangrove: Open Inference Protocol v2"}, {"version", version}}},
          {"paths", std::move(paths)},
          {"components", std::move(components)}};
}

}  // namespace mangrove::serve

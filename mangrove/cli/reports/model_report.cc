#include "mangrove/cli/reports/model_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/graph/operator.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

json value_report(const Graph& graph, const std::string& name, std::int64_t batch) {
  const ValueInfo& info = graph.value(name);
  return {{"name", name}, {"type", dtype_name(info.dtype)}, {"shape", info.shape.with_batch(batch).dims()}};
}

Bytes output_bytes(const Graph& graph, const Node& node, std::int64_t batch) {
  Bytes bytes = 0;
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    const ValueInfo& info = graph.value(output);
    bytes += info.shape.with_batch(batch).elements() * static_cast<Bytes>(size_of(info.dtype));
  }
  return bytes;
}

/// Elements of the initializers that the node trains, as its row in the operator table says.
std::int64_t parameter_elements(const Graph& graph, const Node& node) {
  std::int64_t elements = 0;
  for (const std::size_t position : find_operator(node.op)->parameters) {
    if (position >= node.inputs.size()) continue;
    const auto found = graph.initializers().find(node.inputs[position]);
    if (found != graph.initializers().end()) elements += found->second.elements();
  }
  return elements;
}

json node_report(const Graph& graph, const Node& node, std::int64_t batch) {
  json outputs = json::array();
  for (const std::string& output : node.outputs)
    if (!output.empty()) outputs.push_back(graph.value(output).shape.with_batch(batch).dims());
  return {{"name", node.name},
          {"operator", node.op},
          {"outputs", outputs},
          {"parameters", parameter_elements(graph, node)},
          {"multiply_adds", multiply_adds(graph, node, batch)},
          {"flops", node_cost(graph, node, batch).flops},
          {"activation_bytes", output_bytes(graph, node, batch)}};
}

std::string shapes_text(const json& shapes) {
  std::string text;
  for (const json& shape : shapes)
    text += (text.empty() ? "" : " ") + to_string(Shape(shape.get<std::vector<std::int64_t>>()));
  return text;
}

std::string values_text(const json& values) {
  std::string text;
  for (const json& value : values)
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", value["name"].get<std::string>(),
                        value["type"].get<std::string>(), shapes_text(json::array({value["shape"]})));
  return text;
}

std::string row(std::size_t width, const std::string& name, const std::string& op, const std::string& shape,
                const json& numbers) {
  return fmt::format("{:<{}}  {:<18} {:<20} {:>13} {:>16} {:>17} {:>16}\n", name, width, op, shape,
                     format_count(numbers["parameters"].get<std::int64_t>()),
                     format_count(numbers["multiply_adds"].get<std::int64_t>()),
                     format_count(static_cast<std::int64_t>(numbers["flops"].get<double>())),
                     format_count(numbers["activation_bytes"].get<std::int64_t>()));
}

std::string dot_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string dot_string(const std::string& text) {
  return '"' + dot_escaped(text) + '"';
}

}  // namespace

json model_report(const Graph& graph, std::int64_t batch) {
  json report = {{"model", graph.name()}, {"batch", batch}};
  for (const auto& [name, info] : graph.inputs()) report["inputs"].push_back(value_report(graph, name, batch));
  for (const std::string& name : graph.outputs()) report["outputs"].push_back(value_report(graph, name, batch));
  report["operators"] = json::array();
  double flops = 0;
  Bytes activations = 0;
  for (const Node& node : graph.nodes()) {
    json one = node_report(graph, node, batch);
    flops += one["flops"].get<double>();
    activations += one["activation_bytes"].get<Bytes>();
    report["operators"].push_back(std::move(one));
  }
  report["totals"] = {{"parameters", graph.parameter_elements()},
                      {"multiply_adds", multiply_adds(graph, batch)},
                      {"flops", flops},
                      {"activation_bytes", activations}};
  return report;
}

std::string model_table(const json& report) {
  std::string text =
      fmt::format("model {}, batch {}\n", report["model"].get<std::string>(), report["batch"].get<int>());
  text += "  in:  " + values_text(report.value("inputs", json::array())) + "\n";
  text += "  out: " + values_text(report["outputs"]) + "\n";
  std::size_t width = 5;
  for (const json& node : report["operators"])
    width = std::max(width, node["name"].get_ref<const std::string&>().size());
  text += fmt::format("{:<{}}  {:<18} {:<20} {:>13} {:>16} {:>17} {:>16}\n", "node", width, "operator", "output",
                      "parameters", "multiply-adds", "FLOPs", "activation bytes");
  for (const json& node : report["operators"])
    text += row(width, node["name"], node["operator"], shapes_text(node["outputs"]), node);
  return text + row(width, "total", "", "", report["totals"]);
}

std::string to_dot(const Graph& graph) {
  std::string text = "digraph " + dot_string(graph.name()) + " {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  std::map<std::string, std::string> producers;  // of each value
  for (const auto& [name, info] : graph.inputs()) {
    producers[name] = "input " + name;
    text += "  " + dot_string("input " + name) + " [shape=ellipse];\n";
  }
  for (const Node& node : graph.nodes()) {
    text +=
        "  " + dot_string(node.name) + " [label=\"" + dot_escaped(node.op) + "\\n" + dot_escaped(node.name) + "\"];\n";
    for (const std::string& output : node.outputs) producers[output] = node.name;
  }
  const auto arrow = [&](const std::string& value, const std::string& to) {
    if (const auto from = producers.find(value); from != producers.end())
      text += "  " + dot_string(from->second) + " -> " + dot_string(to) +
              " [label=" + dot_string(to_string(graph.value(value).shape)) + "];\n";
  };
  for (const Node& node : graph.nodes())
    for (const std::string& input : node.inputs) arrow(input, node.name);
  for (const std::string& name : graph.outputs()) {
    text += "  " + dot_string("output " + name) + " [shape=ellipse];\n";
    arrow(name, "output " + name);
  }
  return text + "}\n";
}

}  // namespace mangrove::cli

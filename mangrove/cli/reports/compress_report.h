#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::cli {

/// What `mangrove compress` tells (docs/json.md).
struct CompressReport {
  struct Share {
    double before = 0, after = 0;
    static void fields(auto& self, auto& field) {
      field("before", self.before);
      field("after", self.after);
    }
  };
  struct Size {
    Bytes before = 0, after = 0;
    static void fields(auto& self, auto& field) {
      field("before", self.before);
      field("after", self.after);
    }
  };
  struct Class {
    std::string name;
    Share accuracy;  // of the samples of this class
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("accuracy", self.accuracy);
    }
  };
  struct Parameter {
    std::string name;
    std::int64_t elements = 0;
    double kept = 1;          // share that is not zero
    std::int64_t values = 0;  // that they share; 0: each has its own
    Bytes bytes = 0;          // coded
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("elements", self.elements);
      field("kept", self.kept);
      field("values", self.values);
      field("bytes", self.bytes);
    }
  };

  std::string model, data, recipe, output, exported;
  std::int64_t samples = 0;  // of the test split
  Share accuracy;
  std::vector<Class> classes;
  std::int64_t parameters_before = 0, parameters_after = 0;
  Size bytes;                         // of the files
  std::vector<Parameter> parameters;  // of the network that was written
  Size memory;                        // of the compiled program, batch 1
  Share seconds;                      // of an answer, batch 1
  std::vector<std::string> gains;     // a sentence for each method of the recipe

  static void fields(auto& self, auto& field) {
    field("model", self.model);
    field("data", self.data);
    field("recipe", self.recipe);
    field("output", self.output);
    field("exported", self.exported);
    field("samples", self.samples);
    field("accuracy", self.accuracy);
    field("classes", self.classes);
    field("parameters_before", self.parameters_before);
    field("parameters_after", self.parameters_after);
    field("bytes", self.bytes);
    field("parameters", self.parameters);
    field("memory_bytes", self.memory);
    field("answer_s", self.seconds);
    field("gains", self.gains);
  }
};

/// The report as tables, for people.
std::string compress_text(const CompressReport& report);

}  // namespace mangrove::cli

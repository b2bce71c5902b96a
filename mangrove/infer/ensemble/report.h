#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/report.h"

namespace mangrove::infer {

/// The result of several networks that vote, or whose probabilities are averaged. docs/json.md explains the keys.
struct EnsembleResult {
  struct Member {
    std::string node;
    std::vector<std::string> classes;
    Seconds seconds = 0;
    static void fields(auto& self, auto& field) {
      field("node", self.node);
      field("classes", self.classes);
      field("seconds", self.seconds);
    }
  };
  /// The number of images that one class claimed, that none claimed, and that several claimed.
  struct Claims {
    std::int64_t one = 0, none = 0, several = 0;
    static void fields(auto& self, auto& field) {
      field("one", self.one);
      field("none", self.none);
      field("several", self.several);
    }
  };
  InferResult all;
  std::vector<Member> members;
  std::optional<Claims> claims;  // one-vs-rest only

  void leave_out_answers() {
    all.leave_out_answers();
    claims.reset();
  }
  static void fields(auto& self, auto& field) {
    InferResult::fields(self.all, field);
    field("members", self.members);
    field("claims", self.claims);
  }
};

}  // namespace mangrove::infer

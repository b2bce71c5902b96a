#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_options.h"

namespace mangrove::serve {

/// A version of a model that somebody loads and closes. threads: any thread may call any method.
class LoadedModel : public Model {
 public:
  /// Whether it answers now. One that does not yet takes requests all the same, and lets them wait.
  virtual bool is_ready() const = 0;
  /// Why it is not ready; "": it is, or nothing is known.
  virtual std::string problem() const = 0;
  /// Refuses requests from now on, and returns when those that it has are answered.
  virtual void close() = 0;
};

/// Makes a version of a model from its network. errors: those of what computes it.
using ModelMaker = std::function<Result<std::shared_ptr<LoadedModel>>(
    const Graph& graph, const std::string& name, const std::string& version, const ModelOptions& options)>;

}  // namespace mangrove::serve

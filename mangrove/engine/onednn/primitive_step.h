#pragma once

#include <string>
#include <vector>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/onednn/blocked_layout.h"

namespace mangrove::onednn {

/// A value of the graph, and what oneDNN calls its plain layout.
struct Value {
  std::string name;
  Desc plain;
};

/// What one argument of a primitive is bound to.
struct Argument {
  int id;  // DNNL_ARG_SRC ...
  Desc desc;
  Operand operand;
};

Argument read_value(int id, const Value& value, const Desc& desc);
Argument write_value(int id, const Value& value, const Desc& desc);
Argument read_gradient(int id, const Value& value, const Desc& desc);
Argument write_gradient(int id, const Value& value, const Desc& desc);
Argument read_saved(int id, const std::string& name, const Desc& desc);
Argument write_saved(int id, const std::string& name, const Desc& desc);

/// Attributes under which oneDNN asks for its scratch memory instead of allocating it.
dnnl::primitive_attr user_scratchpad();

/// Whether a primitive is machine code made for the shape, not the plain loops that oneDNN has for the rest.
bool is_generated(const dnnl::primitive_desc_base& primitive);

/// One oneDNN primitive (made here, with its machine code) as a Step; its scratchpad is the step's workspace.
/// Throws dnnl::error.
Step primitive_step(const dnnl::primitive_desc_base& primitive, std::string name, std::string node,
                    std::vector<Argument> arguments);

/// A copy between two layouts of the same value. Where both lie in the same memory and order, it does nothing.
/// Throws dnnl::error.
Step copy_step(const dnnl::engine& engine, std::string name, std::string node, const Argument& from,
               const Argument& to);

}  // namespace mangrove::onednn

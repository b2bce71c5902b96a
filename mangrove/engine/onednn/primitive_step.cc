#include "mangrove/engine/onednn/primitive_step.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <memory>
#include <string_view>

namespace mangrove::onednn {
namespace {

Operand make_operand(Operand::Kind kind, Operand::Access access, const Value& value, const Desc& desc) {
  return {.kind = kind, .access = access, .name = value.name, .layout = make_layout(desc, value.plain)};
}

Argument saved(Operand::Access access, int id, const std::string& name, const Desc& desc) {
  return {id, desc,
          Operand{.kind = Operand::Kind::saved,
                  .access = access,
                  .name = name,
                  .layout = nullptr,
                  .saved_bytes = static_cast<Bytes>(desc.get_size())}};
}

/// A primitive and its arguments, ready to run again and again without allocating.
class BoundPrimitive {
 public:
  BoundPrimitive(const dnnl::engine& engine, dnnl::primitive primitive,
                 const std::vector<std::pair<int, Desc>>& arguments, std::span<std::byte* const> buffers)
      : primitive_(std::move(primitive)), stream_(engine) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      memories_.emplace_back(arguments[i].second, engine, buffers[i]);
      arguments_.push_back({arguments[i].first, memories_.back().get()});
    }
  }

  void operator()() const {
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    MG_CHECK_MSG(status == dnnl_success, std::string("oneDNN: ") + dnnl_status2str(status));
  }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

Step::Bound bind_primitive(const dnnl::engine& engine, const dnnl::primitive& primitive,
                           const std::vector<std::pair<int, Desc>>& arguments,
                           std::span<std::byte* const> buffers) try {
  return [bound = std::make_shared<const BoundPrimitive>(engine, primitive, arguments, buffers)] { (*bound)(); };
} catch (const dnnl::error& error) {
  check_failed(__FILE__, __LINE__, "bind", std::string("oneDNN: ") + error.what());
}

}  // namespace

Argument read_value(int id, const Value& value, const Desc& desc) {
  return {id, desc, make_operand(Operand::Kind::value, Operand::Access::read, value, desc)};
}
Argument write_value(int id, const Value& value, const Desc& desc) {
  return {id, desc, make_operand(Operand::Kind::value, Operand::Access::write, value, desc)};
}
Argument read_gradient(int id, const Value& value, const Desc& desc) {
  return {id, desc, make_operand(Operand::Kind::gradient, Operand::Access::read, value, desc)};
}
Argument write_gradient(int id, const Value& value, const Desc& desc) {
  return {id, desc, make_operand(Operand::Kind::gradient, Operand::Access::write, value, desc)};
}
Argument read_saved(int id, const std::string& name, const Desc& desc) {
  return saved(Operand::Access::read, id, name, desc);
}
Argument write_saved(int id, const std::string& name, const Desc& desc) {
  return saved(Operand::Access::write, id, name, desc);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_generated(const dnnl::primitive_desc_base& primitive) {
  const std::string_view name = primitive.impl_info_str();
  return name.starts_with("jit") || name.starts_with("brg") || name.starts_with("brdgmm");
}

Step primitive_step(const dnnl::primitive_desc_base& primitive, std::string name, std::string node,
                    std::vector<Argument> arguments) {
  Step step;
  step.name = std::move(name);
  step.node = std::move(node);
  std::vector<std::pair<int, Desc>> bindings;
  for (Argument& argument : arguments) {
    bindings.emplace_back(argument.id, argument.desc);
    step.operands.push_back(std::move(argument.operand));
  }
  const Desc scratchpad = primitive.scratchpad_desc();
  step.workspace = static_cast<Bytes>(scratchpad.get_size());
  if (step.workspace > 0) bindings.emplace_back(DNNL_ARG_SCRATCHPAD, scratchpad);
  step.bind = [engine = primitive.get_engine(), made = dnnl::primitive(primitive.get()), bindings = std::move(bindings),
               has_workspace = step.workspace > 0](std::span<std::byte* const> buffers, std::byte* workspace) {
    std::vector<std::byte*> all(buffers.begin(), buffers.end());
    if (has_workspace) all.push_back(workspace);
    return bind_primitive(engine, made, bindings, all);
  };
  return step;
}

Step copy_step(const dnnl::engine& engine, std::string name, std::string node, const Argument& from,
               const Argument& to) {
  const dnnl::reorder::primitive_desc reorder(engine, from.desc, engine, to.desc, user_scratchpad());
  Step step = primitive_step(reorder, std::move(name), std::move(node),
                             {{DNNL_ARG_FROM, from.desc, from.operand}, {DNNL_ARG_TO, to.desc, to.operand}});
  if (from.desc == to.desc) {
    step.in_place = {0, 1};
    step.bind = [bind = step.bind](std::span<std::byte* const> buffers, std::byte* workspace) -> Step::Bound {
      if (buffers[0] == buffers[1]) return [] {};
      return bind(buffers, workspace);
    };
  }
  return step;
}

}  // namespace mangrove::onednn

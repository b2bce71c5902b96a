#include "mangrove/engine/onednn/byte_support.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace mangrove {

bool computes_byte_products() {
  static const bool does = [] {
    switch (dnnl::get_effective_cpu_isa()) {
      case dnnl::cpu_isa::avx512_core_vnni:
      case dnnl::cpu_isa::avx512_core_bf16:
      case dnnl::cpu_isa::avx512_core_amx:
      case dnnl::cpu_isa::avx2_vnni:
        return true;
      default:
        return false;
    }
  }();
  return does;
}

}  // namespace mangrove

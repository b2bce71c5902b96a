#pragma once

// Which sets of instructions the loops are compiled for; before any header of Highway. Processors with AVX-512 have
// oneDNN.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#pragma once

#include <array>

#include "mangrove/codec/codec.h"

/// The codecs, declared and then listed. Each is in the file of its name.
namespace mangrove::codec::rows {

CodecRow none();
CodecRow fp16();
CodecRow bf16();
CodecRow int8();
CodecRow one_bit();
CodecRow sign();
CodecRow terngrad();
CodecRow qsgd();
CodecRow top_k();
CodecRow random_k();
CodecRow threshold();
CodecRow variance();
CodecRow dgc();
CodecRow esgd();
CodecRow two_step();
CodecRow structured_mask();
CodecRow structured_low_rank();
CodecRow sketched();
CodecRow power();

/// In the order of the page and of `--help`.
inline constexpr std::array kAll = {&none,
                                    &fp16,
                                    &bf16,
                                    &int8,
                                    &one_bit,
                                    &sign,
                                    &terngrad,
                                    &qsgd,
                                    &top_k,
                                    &random_k,
                                    &threshold,
                                    &variance,
                                    &dgc,
                                    &esgd,
                                    &two_step,
                                    &structured_mask,
                                    &structured_low_rank,
                                    &sketched,
                                    &power};

}  // namespace mangrove::codec::rows

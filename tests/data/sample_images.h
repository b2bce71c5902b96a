#pragma once

#include <string>

namespace mangrove::data::testing {

// Files of one image of 11 x 9 pixels: red x * 20, green y * 25, blue x * y * 3 mod 256. How they were written is in
// the .cc file.
extern const std::string kColourJpeg;
extern const std::string kGreyJpeg;
extern const std::string kProgressiveJpeg;
extern const std::string kCmykJpeg;
extern const std::string kPalettePng;  // of 4 colours
extern const std::string kAlphaPng;    // the image itself, with an alpha channel
extern const std::string kDeepPng;     // another: grey of 16 bits, x * y * 700 mod 65536

}  // namespace mangrove::data::testing

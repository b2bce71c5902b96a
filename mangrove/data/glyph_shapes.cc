#include "mangrove/data/glyph_shapes.h"

#include "mangrove/base/check.h"

namespace mangrove::data {
namespace {

using enum GlyphStroke::Kind;

constexpr GlyphPoint kZeroA1[] = {{50, 0}, {84, 14}, {100, 50}, {84, 86}, {50, 100}, {16, 86}, {0, 50}, {16, 14}};
constexpr GlyphStroke kZeroA[] = {{loop, kZeroA1}};  // oval
constexpr GlyphPoint kZeroB1[] = {{62, 3},  {30, 10}, {10, 50}, {28, 92}, {60, 97},
                                  {86, 62}, {80, 16}, {52, 2},  {34, 14}};
constexpr GlyphStroke kZeroB[] = {{curve, kZeroB1}};  // narrow with overlap
constexpr GlyphPoint kZeroC1[] = {{50, 0}, {84, 14}, {96, 50}, {84, 86}, {50, 100}, {16, 86}, {4, 50}, {16, 14}};
constexpr GlyphPoint kZeroC2[] = {{80, 16}, {20, 86}};
constexpr GlyphStroke kZeroC[] = {{loop, kZeroC1}, {straight, kZeroC2}};  // slashed
constexpr GlyphPoint kZeroD1[] = {{62, 4}, {24, 10}, {0, 52}, {24, 94}, {66, 97}, {98, 58}, {86, 14}, {66, 6}};
constexpr GlyphStroke kZeroD[] = {{curve, kZeroD1}};  // open at the top
constexpr GlyphStyle kZero[] = {{kZeroA}, {kZeroB}, {kZeroC}, {kZeroD}};

constexpr GlyphPoint kOneA1[] = {{50, 0}, {50, 100}};
constexpr GlyphStroke kOneA[] = {{straight, kOneA1}};  // stroke
constexpr GlyphPoint kOneB1[] = {{24, 24}, {54, 0}, {54, 100}};
constexpr GlyphStroke kOneB[] = {{straight, kOneB1}};  // flag
constexpr GlyphPoint kOneC1[] = {{24, 22}, {50, 0}, {50, 100}};
constexpr GlyphPoint kOneC2[] = {{20, 100}, {82, 100}};
constexpr GlyphStroke kOneC[] = {{straight, kOneC1}, {straight, kOneC2}};  // flag and base
constexpr GlyphPoint kOneD1[] = {{66, 0}, {36, 100}};
constexpr GlyphStroke kOneD[] = {{straight, kOneD1}};  // slanted
constexpr GlyphStyle kOne[] = {{kOneA}, {kOneB}, {kOneC}, {kOneD}};

constexpr GlyphPoint kTwoA1[] = {{8, 26}, {24, 5}, {54, 0}, {84, 14}, {85, 40}, {50, 72}, {5, 100}};
constexpr GlyphPoint kTwoA2[] = {{5, 100}, {96, 99}};
constexpr GlyphStroke kTwoA[] = {{curve, kTwoA1}, {straight, kTwoA2}};  // round with flat base
constexpr GlyphPoint kTwoB1[] = {{10, 22}, {40, 0}, {80, 10}, {82, 40}, {50, 76},
                                 {15, 97}, {4, 86}, {20, 76}, {52, 88}, {97, 97}};
constexpr GlyphStroke kTwoB[] = {{curve, kTwoB1}};  // looped base
constexpr GlyphPoint kTwoC1[] = {{8, 14}, {50, 0}, {88, 18}, {66, 54}, {6, 98}};
constexpr GlyphPoint kTwoC2[] = {{6, 98}, {98, 100}};
constexpr GlyphStroke kTwoC[] = {{curve, kTwoC1}, {straight, kTwoC2}};  // angular
constexpr GlyphStyle kTwo[] = {{kTwoA}, {kTwoB}, {kTwoC}};

constexpr GlyphPoint kThreeA1[] = {{10, 13}, {45, 0}, {82, 12}, {80, 38}, {40, 47}};
constexpr GlyphPoint kThreeA2[] = {{40, 47}, {84, 56}, {92, 82}, {54, 100}, {8, 90}};
constexpr GlyphStroke kThreeA[] = {{curve, kThreeA1}, {curve, kThreeA2}};  // two bowls
constexpr GlyphPoint kThreeB1[] = {{10, 3}, {86, 3}, {42, 42}};
constexpr GlyphPoint kThreeB2[] = {{42, 42}, {84, 50}, {92, 78}, {55, 100}, {8, 89}};
constexpr GlyphStroke kThreeB[] = {{straight, kThreeB1}, {curve, kThreeB2}};  // flat top
constexpr GlyphPoint kThreeC1[] = {{12, 15}, {50, 0},  {82, 18}, {60, 42},  {34, 50},
                                   {40, 42}, {72, 52}, {92, 76}, {60, 100}, {10, 90}};
constexpr GlyphStroke kThreeC[] = {{curve, kThreeC1}};  // small inner loop
constexpr GlyphStyle kThree[] = {{kThreeA}, {kThreeB}, {kThreeC}};

constexpr GlyphPoint kFourA1[] = {{18, 0}, {8, 56}, {92, 56}};
constexpr GlyphPoint kFourA2[] = {{70, 14}, {66, 100}};
constexpr GlyphStroke kFourA[] = {{straight, kFourA1}, {straight, kFourA2}};  // open
constexpr GlyphPoint kFourB1[] = {{70, 100}, {70, 0}, {2, 70}, {98, 70}};
constexpr GlyphStroke kFourB[] = {{straight, kFourB1}};  // closed
constexpr GlyphPoint kFourC1[] = {{22, 0}, {8, 34}, {20, 54}, {58, 52}, {84, 42}};
constexpr GlyphPoint kFourC2[] = {{86, 2}, {74, 100}};
constexpr GlyphStroke kFourC[] = {{curve, kFourC1}, {straight, kFourC2}};  // curved
constexpr GlyphStyle kFour[] = {{kFourA}, {kFourB}, {kFourC}};

constexpr GlyphPoint kFiveA1[] = {{88, 2}, {20, 2}, {14, 45}};
constexpr GlyphPoint kFiveA2[] = {{14, 45}, {50, 36}, {91, 56}, {86, 88}, {45, 100}, {7, 88}};
constexpr GlyphStroke kFiveA[] = {{straight, kFiveA1}, {curve, kFiveA2}};  // angular
constexpr GlyphPoint kFiveB1[] = {{88, 3}, {50, 3}, {22, 10}, {20, 38}, {55, 45}, {90, 68}, {66, 98}, {8, 92}};
constexpr GlyphStroke kFiveB[] = {{curve, kFiveB1}};  // one line
constexpr GlyphPoint kFiveC1[] = {{22, 6}, {17, 42}, {55, 38}, {92, 65}, {66, 98}, {9, 92}};
constexpr GlyphPoint kFiveC2[] = {{22, 5}, {92, 0}};
constexpr GlyphStroke kFiveC[] = {{curve, kFiveC1}, {straight, kFiveC2}};  // with a hat
constexpr GlyphStyle kFive[] = {{kFiveA}, {kFiveB}, {kFiveC}};

constexpr GlyphPoint kSixA1[] = {{76, 0},  {35, 20}, {8, 60},  {20, 92}, {54, 100},
                                 {88, 82}, {76, 56}, {42, 52}, {12, 72}};
constexpr GlyphStroke kSixA[] = {{curve, kSixA1}};  // round
constexpr GlyphPoint kSixB1[] = {{56, 0}, {22, 44}, {5, 76}, {30, 99}, {74, 95}, {84, 70}, {54, 55}, {16, 70}};
constexpr GlyphStroke kSixB[] = {{curve, kSixB1}};  // straight stem
constexpr GlyphPoint kSixC1[] = {{90, 12}, {60, 0},  {22, 20}, {6, 60},  {25, 97},
                                 {70, 97}, {90, 72}, {60, 53}, {24, 62}, {9, 80}};
constexpr GlyphStroke kSixC[] = {{curve, kSixC1}};  // curled
constexpr GlyphStyle kSix[] = {{kSixA}, {kSixB}, {kSixC}};

constexpr GlyphPoint kSevenA1[] = {{5, 3}, {93, 3}, {40, 100}};
constexpr GlyphStroke kSevenA[] = {{straight, kSevenA1}};  // plain
constexpr GlyphPoint kSevenB1[] = {{6, 3}, {93, 3}, {42, 100}};
constexpr GlyphPoint kSevenB2[] = {{26, 52}, {86, 50}};
constexpr GlyphStroke kSevenB[] = {{straight, kSevenB1}, {straight, kSevenB2}};  // crossed
constexpr GlyphPoint kSevenC1[] = {{8, 20}, {8, 4}, {92, 5}};
constexpr GlyphPoint kSevenC2[] = {{92, 5}, {62, 44}, {46, 74}, {40, 100}};
constexpr GlyphStroke kSevenC[] = {{straight, kSevenC1}, {curve, kSevenC2}};  // curved with serif
constexpr GlyphStyle kSeven[] = {{kSevenA}, {kSevenB}, {kSevenC}};

constexpr GlyphPoint kEightA1[] = {{80, 16},  {50, 0},  {20, 14}, {28, 38}, {56, 52}, {86, 72}, {76, 95},
                                   {45, 100}, {14, 88}, {18, 68}, {50, 50}, {76, 34}, {80, 16}};
constexpr GlyphStroke kEightA[] = {{curve, kEightA1}};  // one line
constexpr GlyphPoint kEightB1[] = {{50, 0}, {80, 11}, {80, 36}, {50, 47}, {20, 36}, {20, 11}};
constexpr GlyphPoint kEightB2[] = {{50, 47}, {87, 61}, {86, 88}, {50, 100}, {14, 88}, {13, 61}};
constexpr GlyphStroke kEightB[] = {{loop, kEightB1}, {loop, kEightB2}};  // two loops
constexpr GlyphPoint kEightC1[] = {{88, 8},   {45, 0},  {15, 20}, {45, 45}, {86, 70},
                                   {60, 100}, {16, 90}, {24, 65}, {60, 45}, {92, 5}};
constexpr GlyphStroke kEightC[] = {{curve, kEightC1}};  // open at the top
constexpr GlyphStyle kEight[] = {{kEightA}, {kEightB}, {kEightC}};

constexpr GlyphPoint kNineA1[] = {{84, 27}, {54, 1}, {16, 14}, {18, 46}, {55, 55}};
constexpr GlyphPoint kNineA2[] = {{85, 12}, {80, 100}};
constexpr GlyphStroke kNineA[] = {{loop, kNineA1}, {straight, kNineA2}};  // straight stem
constexpr GlyphPoint kNineB1[] = {{87, 26}, {54, 0},  {12, 18}, {20, 50}, {60, 51},
                                  {86, 24}, {85, 65}, {60, 97}, {14, 93}};
constexpr GlyphStroke kNineB[] = {{curve, kNineB1}};  // curved tail
constexpr GlyphPoint kNineC1[] = {{84, 18}, {45, 0}, {10, 26}, {35, 52}, {74, 40}, {85, 14}};
constexpr GlyphPoint kNineC2[] = {{85, 14}, {58, 100}};
constexpr GlyphStroke kNineC[] = {{curve, kNineC1}, {straight, kNineC2}};  // slanted stem
constexpr GlyphStyle kNine[] = {{kNineA}, {kNineB}, {kNineC}};

constexpr std::span<const GlyphStyle> kStyles[] = {kZero, kOne, kTwo,   kThree, kFour,
                                                   kFive, kSix, kSeven, kEight, kNine};

}  // namespace

std::span<const GlyphStyle> glyph_styles(int digit) {
  MG_CHECK(digit >= 0 && digit < 10);
  return kStyles[digit];
}

}  // namespace mangrove::data

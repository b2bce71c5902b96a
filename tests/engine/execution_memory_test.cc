// An Execution takes exactly the memory that its Program announced: the blocks that our code takes by calloc while one
// is made, and keeps. The program is linked so that our calls of calloc and free come here (see tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"
#include "mangrove/engine/memory_plan.h"

namespace {

bool counting = false;
std::map<void*, std::size_t> kept;  // sizes of the blocks taken while counting

}  // namespace

extern "C" {
void* __real_calloc(std::size_t count, std::size_t size);
void __real_free(void* block);
void* __wrap_calloc(std::size_t count, std::size_t size);
void __wrap_free(void* block);

void* __wrap_calloc(std::size_t count, std::size_t size) {
  void* const block = __real_calloc(count, size);
  if (counting) kept[block] = count * size;
  return block;
}
void __wrap_free(void* block) {
  if (counting) kept.erase(block);
  __real_free(block);
}
}

namespace mangrove {
namespace {

TEST(ExecutionMemory, IsTwoBlocksOfThePlannedSize) {
  for (const std::string& backend : backend_names()) {
    for (const Mode mode : {Mode::inference, Mode::training}) {
      CompileOptions options;
      options.mode = mode;
      options.batch = 5;
      options.backend = backend;
      const auto program = Program::compile(tiny_lenet(DType::f32), options);
      ASSERT_TRUE(program.ok()) << program.error().message;
      kept.clear();
      counting = true;
      auto execution = Execution::create(*program);
      counting = false;
      ASSERT_TRUE(execution.ok()) << execution.error().message;
      EXPECT_EQ(kept.size(), 2U) << backend;
      Bytes bytes = 0;
      for (const auto& [block, size] : kept) bytes += static_cast<Bytes>(size);
      // each with room to begin at a multiple of the alignment
      EXPECT_EQ(bytes, (*program)->memory().total() + 2 * kBufferAlignment) << backend;
    }
  }
}

}  // namespace
}  // namespace mangrove

// An Execution takes exactly the memory that its Program announced: every aligned allocation of this test program is
// counted while one is made.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<std::int64_t> counted_bytes = 0;
std::atomic<int> counted_blocks = 0;

}  // namespace

void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  void* block = nullptr;
  if (posix_memalign(&block, static_cast<std::size_t>(alignment), size) != 0) return nullptr;
  if (counting) {
    counted_bytes += static_cast<std::int64_t>(size);
    ++counted_blocks;
  }
  return block;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* block = nullptr;
  if (posix_memalign(&block, static_cast<std::size_t>(alignment), size) != 0) std::abort();
  return block;
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
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
      counted_bytes = 0;
      counted_blocks = 0;
      counting = true;
      auto execution = Execution::create(*program);
      counting = false;
      ASSERT_TRUE(execution.ok()) << execution.error().message;
      EXPECT_EQ(counted_blocks, 2) << backend;
      EXPECT_EQ(counted_bytes, (*program)->memory().total()) << backend;
    }
  }
}

}  // namespace
}  // namespace mangrove

#include "mangrove/cluster/job_checks.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "mangrove/job/keys.pb.h"

namespace mangrove::cluster {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Path = std::vector<const FieldDescriptor*>;

bool is_number(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
    default:
      return true;
  }
}

/// Every number of a job, with the messages that it is in.
std::vector<Path> numbers_of(const Descriptor& message, const Path& above = {}) {
  std::vector<Path> numbers;
  for (int i = 0; i < message.field_count(); ++i) {
    Path path = above;
    path.push_back(message.field(i));
    if (is_number(*path.back())) numbers.push_back(path);
    if (path.back()->message_type() == nullptr) continue;
    const std::vector<Path> below = numbers_of(*path.back()->message_type(), path);
    numbers.insert(numbers.end(), below.begin(), below.end());
  }
  return numbers;
}

std::pair<double, double> range_of(const FieldDescriptor& field) {
  if (field.options().HasExtension(job::key)) {
    const job::KeyInfo& key = field.options().GetExtension(job::key);
    return {key.low(), key.high()};
  }
  const job::Bounds& range = field.options().GetExtension(job::bounds);
  return {range.low(), range.high()};
}

/// Sets the number at the end of a path; false: its type has no such number.
bool set_number(Message& job, const Path& path, double value) {
  Message* inner = &job;
  for (std::size_t i = 0; i + 1 < path.size(); ++i)
    inner = path[i]->is_repeated() ? inner->GetReflection()->AddMessage(inner, path[i])
                                   : inner->GetReflection()->MutableMessage(inner, path[i]);
  const auto& reflection = *inner->GetReflection();
  const FieldDescriptor* const field = path.back();
  const bool is_list = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      is_list ? reflection.AddDouble(inner, field, value) : reflection.SetDouble(inner, field, value);
      return true;
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const auto number = static_cast<float>(value);
      is_list ? reflection.AddFloat(inner, field, number) : reflection.SetFloat(inner, field, number);
      return true;
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      if (!(std::abs(value) <= 2147483647)) return false;
      const auto number = static_cast<std::int32_t>(value);
      is_list ? reflection.AddInt32(inner, field, number) : reflection.SetInt32(inner, field, number);
      return true;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      if (!(std::abs(value) < 9.2e18)) return false;
      const auto number = static_cast<std::int64_t>(value);
      is_list ? reflection.AddInt64(inner, field, number) : reflection.SetInt64(inner, field, number);
      return true;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      if (!(value >= 0 && value < 1.8e19)) return false;
      const auto number = static_cast<std::uint64_t>(value);
      is_list ? reflection.AddUInt64(inner, field, number) : reflection.SetUInt64(inner, field, number);
      return true;
    }
    default:
      ADD_FAILURE() << field->full_name() << ": no check knows numbers of this type";
      return false;
  }
}

TEST(EveryNumberOfAJob, HasBounds) {
  const std::vector<Path> numbers = numbers_of(*JobSpec::descriptor());
  EXPECT_GT(numbers.size(), 40u);
  for (const Path& path : numbers) {
    const auto& options = path.back()->options();
    EXPECT_TRUE(options.HasExtension(job::key) || options.HasExtension(job::bounds))
        << path.back()->full_name() << ": give it the option job.key or job.bounds";
    const auto [low, high] = range_of(*path.back());
    EXPECT_TRUE(std::isfinite(low) && std::isfinite(high) && low < high) << path.back()->full_name() << ": no `high`";
  }
}

TEST(EveryNumberOfAJob, IsCheckedWhereItIsReceived) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double hostile[] = {-1,      2147483647, -2147483647, 0x1p60,    0x1p62,     9.1e18,
                            -9.1e18, 1e300,      -1e300,      kInfinity, -kInfinity, std::nan("")};
  for (const Path& path : numbers_of(*JobSpec::descriptor())) {
    const auto [low, high] = range_of(*path.back());
    int refused = 0;
    for (const double value : hostile) {
      if (value >= low && value <= high) continue;
      JobSpec job;
      job.mutable_train();
      if (!set_number(job, path, value)) continue;
      const Status status = check_job(job);
      ASSERT_FALSE(status.ok()) << path.back()->full_name() << " = " << value;
      EXPECT_EQ(status.code(), Code::invalid_argument) << status.error().message;
      std::string name = path.back()->name();
      if (name.ends_with("_s")) name.resize(name.size() - 2);  // as its key is called
      EXPECT_NE(status.error().message.find(name), std::string::npos)
          << path.back()->full_name() << ": " << status.error().message;
      ++refused;
    }
    const bool takes_all = path.back()->name() == "noise_seed";
    EXPECT_TRUE(takes_all || refused > 0) << path.back()->full_name();
  }
}

TEST(JobCheck, ListsHaveAnEnd) {
  JobSpec job;
  for (int i = 0; i < 10'001; ++i) job.mutable_train()->add_milestones(1);
  const Status status = check_job(job);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "milestones: 10001 elements, the most is 10000");
}

TEST(JobCheck, TextsInsideAreUtf8Too) {
  JobSpec job;
  job.mutable_infer()->add_tiers()->set_name("\xc0\x80");
  const Status status = check_job(job);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "tiers: element 1: name: the text is not UTF-8");
}

}  // namespace
}  // namespace mangrove::cluster

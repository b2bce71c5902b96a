#include "mangrove/data/cached.h"

#include "mangrove/base/mutex.h"
#include "mangrove/data/sample_bytes.h"
#include "mangrove/data/wrapped.h"

namespace mangrove::data {
namespace {

class CachedSamples final : public WrappedDataset {
 public:
  CachedSamples(std::shared_ptr<const Dataset> dataset, Bytes room)
      : WrappedDataset(std::move(dataset)), kept_(inner().size()), room_(room) {}

  bool decodes() const override { return false; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    if (const std::string* packed = find(index)) {
      unpack_sample({reinterpret_cast<const std::uint8_t*>(packed->data()), packed->size()}, out);
      return {};
    }
    MG_RETURN_IF_ERROR(inner().read(index, out));
    keep(index, out);
    return {};
  }

 private:
  /// Once there is one, it stays as it is.
  const std::string* find(std::uint32_t index) const {
    MutexLock lock(mutex_);
    return kept_[index].empty() ? nullptr : &kept_[index];
  }
  void keep(std::uint32_t index, std::span<const float> sample) const {
    {
      MutexLock lock(mutex_);
      if (room_ < static_cast<Bytes>(sample.size())) return;
    }
    std::string packed = pack_sample(sample);
    MutexLock lock(mutex_);
    if (!kept_[index].empty() || static_cast<Bytes>(packed.size()) > room_) return;
    room_ -= static_cast<Bytes>(packed.size());
    kept_[index] = std::move(packed);
  }

  mutable Mutex mutex_;
  mutable std::vector<std::string> kept_ MG_GUARDED_BY(mutex_);  // empty: not kept
  mutable Bytes room_ MG_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Dataset> cached(std::shared_ptr<const Dataset> dataset, Bytes budget) {
  const Bytes room = budget - static_cast<Bytes>(dataset->size() * sizeof(std::string));
  if (room <= 0) return dataset;
  return std::make_shared<CachedSamples>(std::move(dataset), room);
}

}  // namespace mangrove::data

#include "mangrove/data/cached.h"

#include "mangrove/base/mutex.h"
#include "mangrove/data/sample_bytes.h"

namespace mangrove::data {
namespace {

class CachedSamples final : public Dataset {
 public:
  CachedSamples(std::shared_ptr<const Dataset> dataset, Bytes room)
      : dataset_(std::move(dataset)), kept_(dataset_->size()), room_(room) {}

  std::uint32_t size() const override { return dataset_->size(); }
  Shape sample_shape() const override { return dataset_->sample_shape(); }
  const std::vector<std::string>& class_names() const override { return dataset_->class_names(); }
  const CoarseLabels* coarse() const override { return dataset_->coarse(); }
  std::string title() const override { return dataset_->title(); }
  std::string name(std::uint32_t index) const override { return dataset_->name(index); }
  std::vector<std::uint32_t> run_ends() const override { return dataset_->run_ends(); }
  std::string file(std::uint32_t index) const override { return dataset_->file(index); }
  std::int32_t label(std::uint32_t index) const override { return dataset_->label(index); }

  Status read(std::uint32_t index, std::span<float> out) const override {
    if (const std::string* packed = find(index)) {
      unpack_sample({reinterpret_cast<const std::uint8_t*>(packed->data()), packed->size()}, out);
      return {};
    }
    MG_RETURN_IF_ERROR(dataset_->read(index, out));
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

  std::shared_ptr<const Dataset> dataset_;
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

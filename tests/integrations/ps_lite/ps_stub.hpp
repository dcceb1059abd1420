// What a request handler sees of ps-lite, written from the signatures of its API, so that tests need neither ps-lite
// nor a network. KVServer::Process stands for the thread of the server's customer, which is the only one that calls the
// handler.
#ifndef RUBATO_TESTS_INTEGRATIONS_PS_LITE_PS_STUB_HPP
#define RUBATO_TESTS_INTEGRATIONS_PS_LITE_PS_STUB_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ps {

using Key = std::uint64_t;

/// Shared, not copied: a copy sees the same values.
template <typename V>
class SArray {
 public:
  SArray() = default;
  SArray(std::initializer_list<V> list) : values_{std::make_shared<std::vector<V>>(list)} {}
  explicit SArray(const std::vector<V>& values) : values_{std::make_shared<std::vector<V>>(values)} {}
  explicit SArray(std::size_t size, V value = 0) : values_{std::make_shared<std::vector<V>>(size, value)} {}

  std::size_t size() const { return values_ ? values_->size() : 0; }
  bool empty() const { return size() == 0; }
  void resize(std::size_t size, V value = 0) { own().resize(size, value); }
  void push_back(const V& value) { own().push_back(value); }
  V* data() { return values_ ? values_->data() : nullptr; }
  const V* data() const { return values_ ? values_->data() : nullptr; }
  V* begin() { return data(); }
  const V* begin() const { return data(); }
  V* end() { return data() + size(); }
  const V* end() const { return data() + size(); }
  V& operator[](int i) { return data()[i]; }
  const V& operator[](int i) const { return data()[i]; }

 private:
  std::vector<V>& own() {
    if (!values_) values_ = std::make_shared<std::vector<V>>();
    return *values_;
  }
  std::shared_ptr<std::vector<V>> values_;
};

template <typename Val>
struct KVPairs {
  SArray<Key> keys;
  SArray<Val> vals;
  SArray<int> lens;
  int priority = 0;
};

struct KVMeta {
  int cmd;
  bool push;
  bool pull;
  int sender;
  int timestamp;
  int customer_id;
};

struct Postoffice {
  static int WorkerRankToID(int rank) { return rank * 2 + 9; }
};

template <typename Val>
class KVServer {
 public:
  explicit KVServer(int app_id) : app_id_{app_id} {}
  KVServer(const KVServer&) = delete;
  KVServer& operator=(const KVServer&) = delete;

  using ReqHandle = std::function<void(const KVMeta& req_meta, const KVPairs<Val>& req_data, KVServer* server)>;
  void set_request_handle(const ReqHandle& request_handle) { request_handle_ = request_handle; }
  void Response(const KVMeta& req, const KVPairs<Val>& res = KVPairs<Val>()) { sent(req, res); }

  /// What tests have instead of a network: what comes, and what goes.
  void Process(const KVMeta& meta, const KVPairs<Val>& data) { request_handle_(meta, data, this); }
  std::function<void(const KVMeta&, const KVPairs<Val>&)> sent = [](const KVMeta&, const KVPairs<Val>&) {};

 private:
  int app_id_;
  ReqHandle request_handle_;
};

}  // namespace ps

#endif

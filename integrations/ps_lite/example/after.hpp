// A server of a ps-lite job that answers when SSP says so. Include ps/ps.h first.
#include <rubato/ps_lite/request_handler.hpp>
#include <unordered_map>
#include <vector>

using pairs = ps::KVPairs<float>;

// Vectors of one length by key, trained by gradient descent.
class parameters {
 public:
  void set(const pairs& data) { move(data, 1.0F); }
  void step(const pairs& gradient, float weight) { move(gradient, -0.125F * weight); }
  pairs values(const pairs& request) {
    pairs answer;
    answer.keys = request.keys;
    for (const ps::Key key : request.keys)
      for (const float value : vectors_[key]) answer.vals.push_back(value);
    return answer;
  }
  rubato::outcome apply(const pairs& gradient, float weight) { return step(gradient, weight), rubato::outcome::done; }
  pairs read(const pairs& request, const rubato::grant&) { return values(request); }

 private:
  void move(const pairs& data, float by) {
    const std::size_t length = data.keys.size() == 0 ? 0 : data.vals.size() / data.keys.size();
    const float* next = data.vals.data();
    for (const ps::Key key : data.keys) {
      std::vector<float>& vector = vectors_[key];
      vector.resize(length);
      for (float& value : vector) value += by * *next++;
    }
  }
  std::unordered_map<ps::Key, std::vector<float>> vectors_;
};

enum command { train, initialise, finished };

class training_server {
 public:
  training_server(ps::KVServer<float>& server, std::uint32_t workers)
      : sync_{{.capacity = workers}, {.staleness = 3}, store_} {
    server.set_request_handle(
        [this](const ps::KVMeta& request, const pairs& data, ps::KVServer<float>* to) { handle(request, data, to); });
  }

 private:
  void handle(const ps::KVMeta& request, const pairs& data, ps::KVServer<float>* server) {
    if (request.cmd == initialise) store_.set(data);
    if (request.cmd == finished)
      static_cast<void>(sync_.depart({request.sender, request.customer_id}, rubato::cause::done));
    if (request.cmd != train) return server->Response(request);
    sync_(request, data, server);
  }
  parameters store_;
  rubato::ps_lite::request_handler<ps::KVServer<float>, parameters, rubato::ssp> sync_;
};

// A server of a ps-lite job that answers each request as it comes. Include ps/ps.h first.
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
  explicit training_server(ps::KVServer<float>& server) {
    server.set_request_handle(
        [this](const ps::KVMeta& request, const pairs& data, ps::KVServer<float>* to) { handle(request, data, to); });
  }

 private:
  void handle(const ps::KVMeta& request, const pairs& data, ps::KVServer<float>* server) {
    if (request.cmd == initialise) store_.set(data);
    if (request.cmd != train) return server->Response(request);
    if (request.push) store_.step(data, 1.0F);
    if (request.pull) return server->Response(request, store_.values(data));
    server->Response(request);
  }
  parameters store_;
};

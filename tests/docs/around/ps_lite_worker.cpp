#include <vector>

// What the loop needs of ps::KVWorker, so that ps-lite need not be there.
struct worker {
  int Pull(const std::vector<unsigned long>& keys, std::vector<float>* values);
  int Push(const std::vector<unsigned long>& keys, const std::vector<float>& values, const std::vector<int>& lengths = {},
           int command = 0);
  void Wait(int timestamp);
};
constexpr int finished = 3;
void compute(const std::vector<float>& values, std::vector<float>* gradient);

void work(worker& kv, int steps, const std::vector<unsigned long>& keys, std::vector<float> values,
          std::vector<float> gradient) {
  // BLOCK
}

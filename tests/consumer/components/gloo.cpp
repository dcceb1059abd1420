#include <cstdio>
#include <filesystem>
#include <rubato/gloo_ps/stores.hpp>
#include <string>

int main(int, char** argv) {
  const std::string folder = std::string{argv[0]} + "_store";
  std::filesystem::create_directory(folder);
  rubato::gloo_ps::exclusive_file_store store{folder};
  store.set("key", {'\0'});
  std::printf("gloo: %d\n", store.get("key").at(0));
}

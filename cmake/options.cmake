# Every option of the build, in one place.

option(BUILD_SHARED_LIBS "shared libraries (OFF: static)" ON)
option(GGML_CPU          "the CPU back end" ON)
option(TENON_BUILD_TOOLS "the program `tenon` (needs libpng and cJSON)" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BUILD_TESTS "tests (need cmocka) and examples" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BUILD_BENCH "programs that measure" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BUILD_FUZZ  "fuzzers (need Clang)" OFF)
option(TENON_WERROR      "warnings are errors" ${PROJECT_IS_TOP_LEVEL})
option(TENON_COVERAGE    "instrument for gcov" OFF)

set(GGML_MAX_NAME  "64" CACHE STRING "bytes of a tensor's name with its terminator; part of the layout of struct ggml_tensor")
set(TENON_SANITIZE ""   CACHE STRING "sanitizers, as after -fsanitize=: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(NOT GGML_MAX_NAME MATCHES "^[0-9]+$" OR GGML_MAX_NAME LESS 16)
  message(FATAL_ERROR "GGML_MAX_NAME must be a number of at least 16, not '${GGML_MAX_NAME}'")
endif()

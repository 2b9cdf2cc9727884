# Compiler flags of everything that is built here, carried by the interface target tenon-flags.

add_library(tenon-flags INTERFACE)
target_compile_definitions(tenon-flags INTERFACE _GNU_SOURCE $<$<NOT:$<EQUAL:${GGML_MAX_NAME},64>>:GGML_MAX_NAME=${GGML_MAX_NAME}>)
target_compile_options(tenon-flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -fvisibility=hidden
  # One result on every machine: no fused multiply-add that the source does not ask for.
  -ffp-contract=off)
if(TENON_WERROR)
  target_compile_options(tenon-flags INTERFACE -Werror)
endif()
if(TENON_SANITIZE)
  target_compile_options(tenon-flags INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tenon-flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()
if(TENON_COVERAGE)
  target_compile_options(tenon-flags INTERFACE --coverage)
  target_link_options(tenon-flags INTERFACE --coverage)
endif()

# The libraries. Sources are found by folder, so that a new file needs no entry here.

find_package(Threads REQUIRED)

# ggml_commit(): the revision as it was when the build was configured.
execute_process(COMMAND git rev-parse --short HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  OUTPUT_VARIABLE TN_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_revision)
if(no_revision)
  set(TN_COMMIT "unknown")
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/core/version.c PROPERTIES COMPILE_DEFINITIONS TN_COMMIT="${TN_COMMIT}")

# tenon_objects(NAME GLOB...): objects that a shared or static library and the tests' own archive share.
function(tenon_objects name)
  set(sources)
  foreach(pattern IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${pattern})
    list(APPEND sources ${found})
  endforeach()
  tenon_isa_sources(sources)
  if(NOT name STREQUAL ggml-objects) # the registry sits beside the interfaces, and in a library above them
    list(FILTER sources EXCLUDE REGEX "src/backend/(registry|load)\\.c$")
  endif()
  add_library(${name} OBJECT ${sources})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_STANDARD 11 C_EXTENSIONS ON)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tenon-flags Threads::Threads)
  target_compile_definitions(${name} PRIVATE GGML_SHARED GGML_BUILD GGML_BACKEND_SHARED GGML_BACKEND_BUILD
    TN_VERSION="${PROJECT_VERSION}")
endfunction()

# tenon_library(NAME OBJECTS)
function(tenon_library name objects)
  add_library(${name} $<TARGET_OBJECTS:${objects}>)
  add_library(ggml::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C
    BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  if(NOT GGML_MAX_NAME EQUAL 64)
    target_compile_definitions(${name} PUBLIC GGML_MAX_NAME=${GGML_MAX_NAME})
  endif()
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(${name} INTERFACE GGML_SHARED GGML_BACKEND_SHARED)
    # What a library lacks fails when it is linked, not when a program loads it. Sanitizers resolve their calls late.
    target_link_options(${name} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/symbols.map)
    if(NOT TENON_SANITIZE)
      target_link_options(${name} PRIVATE LINKER:-z,defs)
    endif()
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/symbols.map)
  endif()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tenon-flags> Threads::Threads m)
endfunction()

tenon_objects(ggml-base-objects base/*.c quant/*.c core/*.c core/ops/*.c gguf/*.c backend/*.c alloc/*.c sched/*.c ext/*.c train/*.c)
tenon_objects(ggml-objects backend/registry.c backend/load.c)
tenon_library(ggml-base ggml-base-objects)
tenon_library(ggml ggml-objects)
target_link_libraries(ggml PUBLIC ggml-base)

set(tenon_objects_of_all $<TARGET_OBJECTS:ggml-base-objects> $<TARGET_OBJECTS:ggml-objects>)
if(GGML_CPU)
  tenon_objects(ggml-cpu-objects cpu/*.c cpu/ops/*.c cpu/fuse/*.c cpu/kernels/*/*.c)
  target_compile_definitions(ggml-objects PRIVATE TN_BACKEND_CPU)
  target_compile_options(ggml-cpu-objects PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>) # loops become vector code
  tenon_library(ggml-cpu ggml-cpu-objects)
  target_link_libraries(ggml-cpu PUBLIC ggml-base)
  target_link_libraries(ggml PUBLIC ggml-cpu)
  list(APPEND tenon_objects_of_all $<TARGET_OBJECTS:ggml-cpu-objects>)
endif()

# Tests see internal functions, which the libraries hide: they link the same objects as one archive.
add_library(tn-all-static STATIC EXCLUDE_FROM_ALL ${tenon_objects_of_all})
set_target_properties(tn-all-static PROPERTIES LINKER_LANGUAGE C)
target_include_directories(tn-all-static PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tn-all-static PUBLIC tenon-flags Threads::Threads m)

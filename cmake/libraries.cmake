# The libraries. Sources are found by folder, so that a new file needs no entry here.

find_package(Threads REQUIRED)

# ggml_commit(): the revision as it was when the build was configured.
execute_process(COMMAND git rev-parse --short HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  OUTPUT_VARIABLE TN_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_revision)
if(no_revision)
  set(TN_COMMIT "unknown")
endif()

# Programs that are linked statically, C library and all, load no libraries: base/dl_none.c.
set(tenon_other_dl none)
if(CMAKE_EXE_LINKER_FLAGS MATCHES "(^| )-static( |$)")
  set(tenon_other_dl posix)
endif()

# tenon_objects(NAME GLOB...): objects that a shared or static library and the tests' own archive share.
function(tenon_objects name)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/core/version.c PROPERTIES COMPILE_DEFINITIONS TN_COMMIT="${TN_COMMIT}")
  set(sources)
  foreach(pattern IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${pattern})
    list(APPEND sources ${found})
  endforeach()
  tenon_isa_sources(sources)
  list(FILTER sources EXCLUDE REGEX "src/base/dl_${tenon_other_dl}\\.c$")
  if(NOT name MATCHES "^ggml-objects") # the registry sits beside the interfaces, and in a library above them
    list(FILTER sources EXCLUDE REGEX "src/backend/(registry|load)\\.c$|src/cpu/module\\.c$")
  endif()
  add_library(${name} OBJECT ${sources})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_STANDARD 11 C_EXTENSIONS ON)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tenon-flags Threads::Threads)
  target_compile_definitions(${name} PRIVATE TN_VERSION="${PROJECT_VERSION}")
  if(BUILD_SHARED_LIBS) # else nothing is exported: what links the archives keeps its copy to itself
    target_compile_definitions(${name} PRIVATE GGML_SHARED GGML_BUILD GGML_BACKEND_SHARED GGML_BACKEND_BUILD)
  endif()
endfunction()

# tenon_all_objects(SUFFIX): those of all libraries, each with its own suffix.
function(tenon_all_objects suffix)
  tenon_objects(ggml-base-objects${suffix} base/*.c quant/*.c core/*.c core/ops/*.c gguf/*.c backend/*.c backend/meta/*.c
    alloc/*.c sched/*.c ext/*.c train/*.c)
  tenon_objects(ggml-objects${suffix} backend/registry.c backend/load.c)
  if(GGML_BACKEND_DIR)
    target_compile_definitions(ggml-objects${suffix} PRIVATE GGML_BACKEND_DIR="${GGML_BACKEND_DIR}")
  endif()
  if(GGML_CPU)
    tenon_objects(ggml-cpu-objects${suffix} cpu/*.c cpu/ops/*.c cpu/fuse/*.c cpu/kernels/*/*.c)
    if(NOT GGML_BACKEND_DL)
      target_compile_definitions(ggml-objects${suffix} PRIVATE TN_BACKEND_CPU)
    endif()
    target_compile_options(ggml-cpu-objects${suffix} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>) # loops become vector code
  endif()
endfunction()

# Several sets of the libraries may meet in one process, under names with different suffixes. Public functions are the
# same in all, and the loader would bind all calls to the first. So calls within a library are bound when it is linked,
# and calls from library to library go by private names, whose version node carries the suffix: tn_* are private
# anyway; public functions that a sibling uses (siblings.txt) get a second name there, by which --wrap calls them.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/siblings.txt tenon_siblings REGEX "^ggml")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/siblings.txt)

# tenon_private_names(TARGET LIBRARY SUFFIX): LIBRARY is the target's name without suffix.
function(tenon_private_names target library suffix)
  set(node TENON_PRIVATE)
  if(suffix)
    string(MAKE_C_IDENTIFIER TENON_PRIVATE${suffix} node)
  endif()
  set(map ${PROJECT_BINARY_DIR}/symbols${suffix}.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/symbols.map.in ${map} @ONLY)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:-Bsymbolic-functions)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
  foreach(row IN LISTS tenon_siblings)
    string(REGEX MATCH "^([a-z-]+) +([a-z0-9_]+)$" found "${row}")
    if(NOT found)
      message(FATAL_ERROR "cmake/siblings.txt: '${row}' is not a library and a function")
    elseif(CMAKE_MATCH_1 STREQUAL library)
      target_link_options(${target} PRIVATE LINKER:--defsym=__wrap_${CMAKE_MATCH_2}=${CMAKE_MATCH_2})
    else()
      target_link_options(${target} PRIVATE LINKER:--wrap=${CMAKE_MATCH_2})
    endif()
  endforeach()
endfunction()

# tenon_library(LIBRARY OBJECTS SUFFIX): the target and its file are called LIBRARY and the suffix, if there is one.
function(tenon_library library objects suffix)
  set(name ${library}${suffix})
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
    tenon_private_names(${name} ${library} "${suffix}")
    # What a library lacks fails when it is linked, not when a program loads it. Sanitizers resolve their calls late.
    if(NOT TENON_SANITIZE)
      target_link_options(${name} PRIVATE LINKER:-z,defs)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tenon-flags> Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()

# tenon_cpu_module(NAME [LEVEL]): the CPU back end as a library to be loaded, for this level of isa.def and those below it.
function(tenon_cpu_module name)
  add_library(${name} MODULE $<TARGET_OBJECTS:ggml-cpu-objects> ${PROJECT_SOURCE_DIR}/src/cpu/module.c)
  set_target_properties(${name} PROPERTIES C_STANDARD 11 LINKER_LANGUAGE C BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE GGML_BACKEND_DL TN_VERSION="${PROJECT_VERSION}" GGML_SHARED GGML_BUILD
    GGML_BACKEND_SHARED GGML_BACKEND_BUILD $<$<BOOL:${ARGN}>:TN_MODULE_LEVEL=${ARGN}>)
  tenon_private_names(${name} ggml-cpu "")
  target_link_libraries(${name} PRIVATE tenon-flags ggml-base Threads::Threads m)
endfunction()

# tenon_libraries(SUFFIX OBJECTS): a whole set, of the objects with that suffix.
function(tenon_libraries suffix objects)
  tenon_library(ggml-base ggml-base-objects${objects} "${suffix}")
  tenon_library(ggml ggml-objects${objects} "${suffix}")
  target_link_libraries(ggml${suffix} PUBLIC ggml-base${suffix})
  if(GGML_CPU AND NOT GGML_BACKEND_DL)
    tenon_library(ggml-cpu ggml-cpu-objects${objects} "${suffix}")
    target_link_libraries(ggml-cpu${suffix} PUBLIC ggml-base${suffix})
    target_link_libraries(ggml${suffix} PUBLIC ggml-cpu${suffix})
  endif()
endfunction()

tenon_all_objects("")
tenon_libraries("" "")
if(GGML_CPU AND GGML_CPU_ALL_VARIANTS)
  foreach(level scalar ${tenon_isa_levels})
    tenon_cpu_module(ggml-cpu-${level} ${level})
  endforeach()
elseif(GGML_CPU AND GGML_BACKEND_DL)
  tenon_cpu_module(ggml-cpu)
endif()

set(tenon_objects_of_all $<TARGET_OBJECTS:ggml-base-objects> $<TARGET_OBJECTS:ggml-objects>)
if(GGML_CPU)
  list(APPEND tenon_objects_of_all $<TARGET_OBJECTS:ggml-cpu-objects>)
endif()

# Tests see internal functions, which the libraries hide: they link the same objects as one archive.
add_library(tn-all-static STATIC EXCLUDE_FROM_ALL ${tenon_objects_of_all})
set_target_properties(tn-all-static PROPERTIES LINKER_LANGUAGE C)
target_include_directories(tn-all-static PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tn-all-static PUBLIC tenon-flags Threads::Threads ${CMAKE_DL_LIBS} m)

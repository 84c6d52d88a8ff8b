# One copy of MLIR in the process: everything links the shared library that the
# Python bindings load (libMLIRPythonCAPI), never MLIR's static archives, whose
# type ids and registries would be a second, foreign MLIR.
get_filename_component(_mlir_root "${MLIR_DIR}/../../.." ABSOLUTE)
get_filename_component(_llvm_root "${LLVM_DIR}/../../.." ABSOLUTE)
# The wheels', an installed MLIR's, and an MLIR build directory's place for it.
set(_mlir_places "${_mlir_root}/_mlir_libs"
    "${_mlir_root}/python_packages/mlir_core/mlir/_mlir_libs"
    "${_mlir_root}/tools/mlir/python_packages/mlir_core/mlir/_mlir_libs")
find_library(MLIR_PY_CAPI NAMES MLIRPythonCAPI PATHS ${_mlir_places} NO_DEFAULT_PATH)
if(NOT MLIR_PY_CAPI)
  list(JOIN _mlir_places "\n  " _shown)
  message(FATAL_ERROR "The MLIR of ${MLIR_DIR} has no Python bindings: libMLIRPythonCAPI.so is in none of\n"
    "  ${_shown}\n"
    "Build it with MLIR_ENABLE_BINDINGS_PYTHON=ON, or set MLIR_PY_CAPI to that library.")
endif()
find_library(LLVM_SO NAMES LLVM PATHS "${_llvm_root}/lib" NO_DEFAULT_PATH)
if(NOT LLVM_SO)
  message(FATAL_ERROR "The LLVM of ${LLVM_DIR} has no shared library: libLLVM.so is not in ${_llvm_root}/lib.\n"
    "Build it with LLVM_LINK_LLVM_DYLIB=ON, or set LLVM_SO to that library.")
endif()
get_filename_component(_mlir_libs "${MLIR_PY_CAPI}" DIRECTORY)
get_filename_component(_llvm_libs "${LLVM_SO}" DIRECTORY)
add_library(mlir_one SHARED IMPORTED)
set_target_properties(mlir_one PROPERTIES
  IMPORTED_LOCATION "${MLIR_PY_CAPI}"
  IMPORTED_LINK_DEPENDENT_LIBRARIES "${LLVM_SO}")
add_library(llvm_one SHARED IMPORTED)
set_target_properties(llvm_one PROPERTIES IMPORTED_LOCATION "${LLVM_SO}")

# Wheels find the libraries by relative paths; editable installs and plain
# builds live outside site-packages and need absolute ones.
set(REDFUSE_ABSOLUTE_RPATH "")
if("${SKBUILD_STATE}" STREQUAL "editable" OR NOT SKBUILD)
  set(REDFUSE_ABSOLUTE_RPATH ";${_mlir_libs};${_llvm_libs}")
endif()

# The few objects that the bindings' library leaves out (the mlir-opt driver),
# linked by file: the imported targets would drag in the rest of MLIR. The shared
# libraries come first and once, so that everything they have is taken from them.
function(redfuse_link_one_mlir target)
  set(archives)
  foreach(t MLIROptLib MLIRDebug MLIRObservers MLIRPluginsLib
          MLIRRemarkStreamer MLIRPass MLIRSupport MLIRIR)
    list(APPEND archives $<TARGET_FILE:${t}>)
  endforeach()
  target_link_libraries(${target} PRIVATE mlir_one llvm_one ${archives})
  target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
endfunction()

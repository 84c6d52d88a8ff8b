# redfuse_library([PLAIN] DEPENDS <folder>... [ALONE <file>...])
#
# The library of a folder of lib/: all its .cpp files, as objects of libRedfuse.
# DEPENDS: the folders whose headers they may include (`tools/dev lint` holds that);
# each must have been added before, so arrows go one way. ALONE: files that are not
# joined with others where CMAKE_UNITY_BUILD is on, because they use a dialect whose
# op names are those of others. PLAIN: files read few of MLIR's headers, and are compiled
# while those are precompiled for the other folders, which takes one core a minute.
function(redfuse_library)
  cmake_parse_arguments(ARG "PLAIN" "" "DEPENDS;ALONE" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/lib ${CMAKE_CURRENT_SOURCE_DIR})
  get_property(before GLOBAL PROPERTY REDFUSE_FOLDERS)
  foreach(other ${ARG_DEPENDS})
    if(NOT other IN_LIST before)
      message(FATAL_ERROR "lib/${folder} depends on ${other}, which is none of the folders "
        "that were added before it: ${before}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY REDFUSE_FOLDERS ${folder})

  string(REPLACE "/" "" name Redfuse${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${name} OBJECT ${sources})
  set_property(GLOBAL APPEND PROPERTY REDFUSE_OBJECTS $<TARGET_OBJECTS:${name}>)
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 10)
  if(ARG_ALONE)
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  add_dependencies(${name} RedfuseIncGen)
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${name} PRIVATE REDFUSE_BUILDING ${definitions})
  # The wheels' LLVM has RTTI and exceptions off and assertions on; a library that
  # differs in these does not link or does not match its class layouts.
  target_compile_options(${name} PRIVATE -fno-exceptions -Wall -Wno-comment)
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${name} PRIVATE -fno-rtti)
  endif()
  if(LLVM_ENABLE_ASSERTIONS)
    target_compile_options(${name} PRIVATE -UNDEBUG)
  endif()
  if(NOT ARG_PLAIN)
    redfuse_precompile(${name})
  endif()
endfunction()

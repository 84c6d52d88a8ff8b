# redfuse_library([PLAIN] DEPENDS <folder>...)
#
# The library of a folder of lib/: all its .cpp files, as objects of libRedfuse.
# DEPENDS: the folders whose headers they may include (`tools/dev lint` holds that);
# each must have been added before, so arrows go one way. PLAIN: files read few of
# MLIR's headers, and are compiled while those are precompiled for the other folders.
function(redfuse_library)
  cmake_parse_arguments(ARG "PLAIN" "" "DEPENDS" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/lib ${CMAKE_CURRENT_SOURCE_DIR})
  get_property(before GLOBAL PROPERTY REDFUSE_FOLDERS)
  foreach(other ${ARG_DEPENDS})
    if(NOT other IN_LIST before)
      message(FATAL_ERROR "lib/${folder} depends on ${other}, which is none of the folders "
        "that were added before it: ${before}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY REDFUSE_FOLDERS ${folder})

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(CMAKE_UNITY_BUILD)
    set_property(GLOBAL APPEND PROPERTY REDFUSE_UNJOINED ${sources})
    return()
  endif()
  string(REPLACE "/" "" name Redfuse${folder})
  redfuse_objects(${name} ${sources})
  if(NOT ARG_PLAIN)
    redfuse_precompile(${name})
  endif()
endfunction()

# redfuse_join(<name>)
#
# With CMAKE_UNITY_BUILD, the folders that were added since the last redfuse_join are
# compiled as one file, which reads MLIR's headers and instantiates their templates once:
# they take longer than the files themselves. No two of a group may use one name for two
# things.
function(redfuse_join name)
  get_property(sources GLOBAL PROPERTY REDFUSE_UNJOINED)
  if(sources)
    set_property(GLOBAL PROPERTY REDFUSE_UNJOINED "")
    redfuse_objects(Redfuse${name} ${sources})
    set_target_properties(Redfuse${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

function(redfuse_objects name)
  add_library(${name} OBJECT ${ARGN})
  set_property(GLOBAL APPEND PROPERTY REDFUSE_OBJECTS $<TARGET_OBJECTS:${name}>)
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
endfunction()

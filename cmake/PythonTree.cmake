# A plain build (not a wheel) leaves an importable package below the build
# directory, laid out as an installed wheel is:
#
#   <build>/python/redfuse/          links to python/redfuse of the source tree
#                         _lib/ _bin/ _ext.*.so    what was built
#                         dialects/                links, and the generated modules
#
# PYTHONPATH=<build>/python (with the MLIR bindings at hand) is all that is needed
# to use it, and changes to Python sources need no build.
function(redfuse_python_tree)
  set(source ${CMAKE_SOURCE_DIR}/python/redfuse)
  set(tree ${CMAKE_BINARY_DIR}/python/redfuse)
  file(MAKE_DIRECTORY ${tree}/_lib ${tree}/_bin)
  # Links of sources that have gone would still import.
  file(GLOB old ${tree}/* ${tree}/dialects/*)
  foreach(link ${old})
    if(IS_SYMLINK ${link})
      file(REMOVE ${link})
    endif()
  endforeach()
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${source} ${source}/* ${source}/dialects/*)
  foreach(entry ${entries})
    # dialects/ holds generated modules too, so it is a folder of its own.
    if(entry MATCHES "__pycache__" OR entry STREQUAL "dialects")
      continue()
    endif()
    get_filename_component(parent ${tree}/${entry} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${source}/${entry} ${tree}/${entry} SYMBOLIC)
  endforeach()
  foreach(generated _redfuse_ops_gen.py _redfuse_enum_gen.py)
    file(CREATE_LINK ${CMAKE_BINARY_DIR}/include/redfuse/Dialect/Redfuse/IR/${generated}
         ${tree}/dialects/${generated} SYMBOLIC)
  endforeach()
  set_target_properties(Redfuse PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${tree}/_lib)
  set_target_properties(redfuse-opt PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${tree}/_bin)
  set_target_properties(_ext PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${tree})
endfunction()

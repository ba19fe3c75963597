include_guard()
enable_language(ASM)

# vitrine_embed_files(TARGET FOLDER): an object library of every file below FOLDER, byte by byte, and a table of them in
# generated/TARGET.inc: vitrine::kEmbeddedFiles, for a source that has declared EmbeddedFile{path, begin, end} before.
function(vitrine_embed_files target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*")
  set(data ".section .rodata\n")
  set(symbols "")
  set(table "")
  set(paths "")
  foreach(file ${files})
    list(LENGTH paths idx)
    list(APPEND paths "${folder}/${file}")
    set(symbol vitrine_file_${idx})
    string(APPEND data ".global ${symbol}\n${symbol}:\n.incbin \"${folder}/${file}\"\n"
      ".global ${symbol}_end\n${symbol}_end:\n")
    string(APPEND symbols "extern const char ${symbol}[];\nextern const char ${symbol}_end[];\n")
    string(APPEND table "{\"/${file}\", ${symbol}, ${symbol}_end},\n")
  endforeach()
  string(APPEND data ".section .note.GNU-stack,\"\",%progbits\n")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/${target}.S" CONTENT "${data}" @ONLY)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/${target}.inc" CONTENT
    "extern \"C\" {\n${symbols}}\nnamespace vitrine {\nconst EmbeddedFile kEmbeddedFiles[] = {\n${table}};\n}\n" @ONLY)
  set_source_files_properties("${CMAKE_BINARY_DIR}/generated/${target}.S" PROPERTIES OBJECT_DEPENDS "${paths}")
  add_library(${target} OBJECT "${CMAKE_BINARY_DIR}/generated/${target}.S")
endfunction()

# Writes OUT, a C file with the text of each of FILES as `const char embedded_NAME[]`: exported code
# contains them (src/deploy/c_export.c).
set(code "/* Written by cmake/embed.cmake. */\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," text "${text}")
  string(APPEND code "extern const char embedded_${name}[];\nconst char embedded_${name}[] = {${text}0};\n")
endforeach()
file(WRITE ${OUT} "${code}")

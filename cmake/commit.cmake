# Writes OUT/commit.h, and only when the commit changed, so that nothing is rebuilt in vain.
execute_process(COMMAND git describe --always --abbrev=12 --dirty --exclude=*
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT}/commit.h CONTENT "#define FANS_COMMIT \"${commit}\"\n")

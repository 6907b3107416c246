# cmake -DPROFILE=<file> -DSTAMP=<header> -P: a C file that changes when, and only when, the profile
# does.
file(SHA256 "${PROFILE}" sum)
file(CONFIGURE OUTPUT "${STAMP}" CONTENT "/* profile @sum@ */\n" @ONLY)
file(TOUCH "${STAMP}")

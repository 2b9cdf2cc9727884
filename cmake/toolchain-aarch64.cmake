# For 64-bit Arm on another machine: Debian's cross compiler, programs that need nothing of the target's system,
# and an emulator that ctest starts them with. The emulated processor has all that isa.def has levels for; SVE, for
# which there are none, would only slow the C library's memory functions down.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-cpu;max,sve=off,pauth=off)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

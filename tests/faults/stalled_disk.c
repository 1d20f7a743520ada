// A disk that stalls: while the file named by STALL_FLAG exists, every call on a path below STALL_PREFIX waits.
// Loaded with LD_PRELOAD, so that Python, TensorFlow and torch meet it alike. The wait ends when the flag is removed.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int stalled(void) {
  const char *flag = getenv("STALL_FLAG");
  return flag && syscall(SYS_access, flag, F_OK) == 0;
}

static void wait_for(const char *path) {
  const char *prefix = getenv("STALL_PREFIX");
  if (!prefix || strncmp(path, prefix, strlen(prefix))) return;
  while (stalled()) nanosleep(&(struct timespec){0, 20000000}, NULL);
}

static void wait_for_descriptor(int descriptor) {
  char link[64], path[4096];
  if (descriptor < 3 || !stalled()) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    wait_for(path);
  }
}

static void wait_at(int directory, const char *path) {
  if (path[0] == '/') wait_for(path);
  else wait_for_descriptor(directory);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

#define OPENS(name)                                   \
  int name(const char *path, int flags, ...) {        \
    REAL(name);                                       \
    va_list more;                                     \
    va_start(more, flags);                            \
    int mode = va_arg(more, int);                     \
    va_end(more);                                     \
    wait_for(path);                                   \
    return real(path, flags, mode);                   \
  }
#define OPENS_AT(name)                                \
  int name(int at, const char *path, int flags, ...) {\
    REAL(name);                                       \
    va_list more;                                     \
    va_start(more, flags);                            \
    int mode = va_arg(more, int);                     \
    va_end(more);                                     \
    wait_at(at, path);                                \
    return real(at, path, flags, mode);               \
  }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

ssize_t write(int descriptor, const void *data, size_t size) {
  REAL(write);
  wait_for_descriptor(descriptor);
  return real(descriptor, data, size);
}
int mkdir(const char *path, mode_t mode) { REAL(mkdir); wait_for(path); return real(path, mode); }
int unlink(const char *path) { REAL(unlink); wait_for(path); return real(path); }
int unlinkat(int at, const char *path, int flags) { REAL(unlinkat); wait_at(at, path); return real(at, path, flags); }
int rename(const char *from, const char *to) { REAL(rename); wait_for(from); return real(from, to); }
int renameat(int at, const char *from, int there, const char *to) {
  REAL(renameat);
  wait_at(at, from);
  return real(at, from, there, to);
}
int stat(const char *path, struct stat *found) { REAL(stat); wait_for(path); return real(path, found); }
int lstat(const char *path, struct stat *found) { REAL(lstat); wait_for(path); return real(path, found); }
int stat64(const char *path, struct stat64 *found) { REAL(stat64); wait_for(path); return real(path, found); }
int lstat64(const char *path, struct stat64 *found) { REAL(lstat64); wait_for(path); return real(path, found); }
DIR *opendir(const char *path) { REAL(opendir); wait_for(path); return real(path); }

// Fails the n-th read, write or sync of the files whose paths start with $FAULT_FILE. Preloaded into a process; its
// test arms it through the file $FAULT_CONTROL, which both map.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ, WRITE, SYNC, KINDS };

struct control {
  int64_t calls[KINDS]; // since the test cleared them
  int64_t kind;         // which calls fail
  int64_t from, to;     // numbers of the first failing call and of the first one after it; from 1
  int64_t error;        // errno
  int64_t failed;       // number of calls that failed
};

static struct control *control;
static const char *prefix;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAULT_CONTROL");
  prefix = getenv("FAULT_FILE");
  int fd = path && prefix ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) control = at;
}

static int fails(int kind, int fd) {
  if (!control) return 0;
  int before = errno;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length < 0) return 0;
  path[length] = 0;
  if (strncmp(path, prefix, strlen(prefix)) != 0) return 0;
  int64_t n = __atomic_add_fetch(&control->calls[kind], 1, __ATOMIC_SEQ_CST);
  if (control->kind != kind || n < control->from || n >= control->to) return 0;
  __atomic_add_fetch(&control->failed, 1, __ATOMIC_SEQ_CST);
  errno = (int)control->error;
  return 1;
}

#define WRAP(kind, type, name, parameters, arguments)                                                                \
  type name parameters {                                                                                             \
    static type(*real) parameters;                                                                                   \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                                                            \
    return fails(kind, fd) ? -1 : real arguments;                                                                    \
  }

WRAP(READ, ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))
WRAP(READ, ssize_t, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at))
WRAP(READ, ssize_t, pread64, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at))
WRAP(WRITE, ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))
WRAP(WRITE, ssize_t, pwrite, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at))
WRAP(WRITE, ssize_t, pwrite64, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at))
WRAP(WRITE, int, ftruncate, (int fd, off_t bytes), (fd, bytes))
WRAP(WRITE, int, ftruncate64, (int fd, off64_t bytes), (fd, bytes))
WRAP(SYNC, int, fsync, (int fd), (fd))
WRAP(SYNC, int, fdatasync, (int fd), (fd))

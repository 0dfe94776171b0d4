/*
 * Loaded into btvirt before the C library (LD_PRELOAD), for what its command line can't say:
 * - its sockets lie in $BTVIRT_DIR instead of /tmp, so that several can run beside each other;
 * - where the kernel has no AF_ALG it gets descriptors that do nothing. Only pairing and private
 *   addresses of the link layer would need them, and nothing here uses either;
 * - it ends with the process that started it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PREFIX "/tmp/bt-server-"

__attribute__((constructor)) static void end_with_parent(void) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

int socket(int domain, int type, int protocol) {
  int (*real)(int, int, int) = dlsym(RTLD_NEXT, "socket");
  int fd = real(domain, type, protocol);
  if (fd < 0 && domain == AF_ALG && errno == EAFNOSUPPORT) return eventfd(0, EFD_CLOEXEC);
  return fd;
}

int bind(int fd, const struct sockaddr *address, socklen_t length) {
  int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
  const char *dir = getenv("BTVIRT_DIR");
  if (address->sa_family == AF_ALG) {
    int result = real(fd, address, length);
    return result < 0 && errno == ENOTSOCK ? 0 : result;
  }
  if (address->sa_family == AF_UNIX && dir) {
    const char *path = ((const struct sockaddr_un *)address)->sun_path;
    if (strncmp(path, PREFIX, strlen(PREFIX)) == 0) {
      struct sockaddr_un moved = {.sun_family = AF_UNIX};
      int written = snprintf(moved.sun_path, sizeof moved.sun_path, "%s/%s", dir, path + strlen("/tmp/"));
      if (written >= (int)sizeof moved.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
      }
      return real(fd, (struct sockaddr *)&moved, sizeof moved);
    }
  }
  return real(fd, address, length);
}

/* A disk that lies about its image, preloaded into a server: of the writes from byte LIES_FROM on, one in LIES_EVERY is lost,
   misplaced, torn or has a bit flipped, and is said to be done. One in LIES_SYNCS syncs fails, 0: none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ssize_t (*write_call)(int, const void *, size_t, off64_t);

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static long number(const char *name) { return atol(getenv(name)); }

static uint64_t drawn(void) {
    static uint64_t state;
    pthread_mutex_lock(&turn);
    if (!state) state = 0x9e3779b97f4a7c15u ^ (uint64_t)number("LIES_SEED") << 20;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    uint64_t found = state >> 11;
    pthread_mutex_unlock(&turn);
    return found;
}

static int is_image(int file) {
    struct stat image, other;
    return !stat(getenv("LIES_IMAGE"), &image) && !fstat(file, &other) && image.st_dev == other.st_dev &&
           image.st_ino == other.st_ino;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    write_call write_at = (write_call)dlsym(RTLD_NEXT, "pwrite64");
    long from = number("LIES_FROM");
    if (at < from || !is_image(file) || drawn() % (uint64_t)number("LIES_EVERY")) return write_at(file, bytes, count, at);
    uint64_t lie = drawn() % 4;
    if (lie == 1) {
        off64_t other = at + 4096 * ((off64_t)(drawn() % 17) - 8);
        write_at(file, bytes, count, other < from ? from : other);
    } else if (lie == 2) {
        write_at(file, bytes, drawn() % count, at);
    } else if (lie == 3) {
        char *flipped = malloc(count);
        memcpy(flipped, bytes, count);
        flipped[drawn() % count] ^= (char)(1 << drawn() % 8);
        write_at(file, flipped, count, at);
        free(flipped);
    }
    return (ssize_t)count;
}

int fdatasync(int file) {
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    long one_in = number("LIES_SYNCS");
    if (!one_in || !is_image(file) || drawn() % (uint64_t)one_in) return sync(file);
    errno = EIO;
    return -1;
}

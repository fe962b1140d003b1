/* A drive in virtual time: requests go in, time passes, completed requests come out.
 *
 * Build the library with `cargo build --release -p flashtwin-c`, and link target/release/libflashtwin.so or .a.
 * A drive is for one thread at a time. After a failure `flashtwin_error` says what was wrong and what to do. */

#ifndef FLASHTWIN_H
#define FLASHTWIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flashtwin_drive flashtwin_drive;

enum flashtwin_op { FLASHTWIN_READ = 0, FLASHTWIN_WRITE = 1, FLASHTWIN_TRIM = 2, FLASHTWIN_FLUSH = 3 };

/* The stream of a request that has none. */
#define FLASHTWIN_NO_STREAM UINT16_MAX

/* No request is under way that will be completed. */
#define FLASHTWIN_NEVER UINT64_MAX

typedef struct {
    uint64_t id;          /* what flashtwin_submit returned */
    uint64_t done_ns;     /* when it was completed */
    uint64_t response_ns; /* how long it took */
} flashtwin_completion;

/* Makes a drive of `size_bytes`.
 *
 * system: a preset such as "rr-ssd", or the path of a TOML file.
 * settings: "KEY=VALUE" texts up to a NULL, or NULL.
 * fill: the share of the drive that these bytes are, such as 0.9; 0 keeps the drive as large as its device file says.
 * error: gets the message, cut to `error_bytes`, if the drive cannot be made, and NULL is returned. */
flashtwin_drive *flashtwin_open(const char *system, const char *const *settings, uint64_t size_bytes, double fill,
                                char *error, size_t error_bytes);

/* Hands in a request; its id, counted from 0, or -1 if it is wrong: it was not taken in then.
 *
 * time_ns: not before flashtwin_now_ns, which moves to it.
 * contents: NULL, or a number for each 4,096 bytes that a write begins, equal for equal data.
 * stream: FLASHTWIN_NO_STREAM, or the stream (placement handle) of a write, for "ftl.partition.policy=streams". */
int64_t flashtwin_submit(flashtwin_drive *drive, uint64_t time_ns, enum flashtwin_op op, uint64_t offset_bytes,
                         uint32_t length_bytes, const uint32_t *contents, uint16_t stream);

/* Lets time pass; 0, or -1. */
int flashtwin_advance(flashtwin_drive *drive, uint64_t to_ns);

uint64_t flashtwin_now_ns(const flashtwin_drive *drive);

/* When a request may be completed next, unless another comes before; FLASHTWIN_NEVER, if none is under way. */
uint64_t flashtwin_next_event_ns(flashtwin_drive *drive);

/* Takes up to `room` requests that are completed by now, in the order of completion. Returns how many. */
size_t flashtwin_completed(flashtwin_drive *drive, flashtwin_completion *into, size_t room);

/* Another drive in the same state, with the same requests under way, which goes on by itself; to be closed, too. NULL if
 * there is no room for it. */
flashtwin_drive *flashtwin_snapshot(flashtwin_drive *drive);

/* Serves what is under way. Returns the summary of a replay of all requests as JSON, to be given to flashtwin_free, or
 * NULL. The drive takes no more requests; close it. */
char *flashtwin_finish(flashtwin_drive *drive);

/* The message of the last failure; empty without one. Valid until the next call with the drive. */
const char *flashtwin_error(const flashtwin_drive *drive);

void flashtwin_free(char *text);
void flashtwin_close(flashtwin_drive *drive);

#ifdef __cplusplus
}
#endif
#endif
